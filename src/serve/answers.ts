// What is answered for a row, as text: an object of JSON, or a line as `predict` prints it.
import type { RowAnswer, ServedModel } from './served-model.ts'

export type TextAnswer = 'labels' | 'scores' | 'probability'

export class Answers {
  readonly #texts: string[]
  /** The labels as JSON. */
  readonly #quoted: string[]

  constructor({ model }: ServedModel) {
    this.#texts = model.labels.map(({ text }) => text)
    this.#quoted = this.#texts.map(text => JSON.stringify(text))
  }

  /** `{"label":"ham","scores":[0.5],"probabilities":{"ham":0.6,"spam":0.4}}`. JSON has no number beyond the largest: null. */
  json({ place, scores, probabilities }: RowAnswer): string {
    let text = `{"label":${this.#quoted[place]},"scores":[${numberText(scores[0])}`
    for (let k = 1; k < scores.length; k++) text += `,${numberText(scores[k])}`
    text += ']'
    if (probabilities) {
      for (let k = 0; k < probabilities.length; k++) {
        text += `${k === 0 ? ',"probabilities":{' : ','}${this.#quoted[k]}:${numberText(probabilities[k])}`
      }
      text += '}'
    }
    return `${text}}`
  }

  /** As `predict`, `predict --scores` and `predict --probability` print it. */
  line({ place, scores, probabilities }: RowAnswer, kind: TextAnswer): string {
    let text = this.#texts[place]
    const numbers = kind === 'scores' ? scores : kind === 'probability' ? probabilities! : []
    for (let k = 0; k < numbers.length; k++) text += ` ${numbers[k]}`
    return `${text}\n`
  }
}

const numberText = (x: number): string => (Number.isFinite(x) ? String(x) : 'null')
