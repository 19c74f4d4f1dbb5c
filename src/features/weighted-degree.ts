// `weighted-degree:D[:ALPHABET]`: for every position p and every k from 1 to D, the k letters from p on are a feature. A row
// of n letters has up to n·D entries, of value 1 each, and two rows' product is how many such strings they share, place by
// place. With A letters and S = A + … + A^D, feature numbers are
//
//   p·S + (A + … + A^(k−1)) + the k letters read as a number to the base A
//
// Strings with a letter outside the alphabet (N, in DNA) are no features. The usual weights β_k = 2(D−k+1) / (D(D+1)) are not
// applied: see docs/expansions.md for what they would cost and bring.
//
// Rätsch, Sonnenburg, Schäfer: Learning interpretable SVMs for biological sequence classification (BMC Bioinformatics 2006).
import { SpillwayError, UsageError } from '../errors.ts'
import { EXPAND_NO_LETTER } from '../numeric/layouts.ts'
import type { ExpandedRow, Expansion, ExpansionStep } from './expansion.ts'

const MOST_DEGREE = 8
const DNA = 'ACGT'
const MOST_LETTERS = 32
/** Features of one position: below it, those of the longest string are exact as plain numbers. */
const MOST_PER_POSITION = 2 ** 33

class WeightedDegree implements ExpansionStep {
  readonly loop = 'expandWeightedDegree'
  readonly letters = true
  readonly hashes = false
  readonly constant = true
  readonly proportional = true
  readonly text: string
  readonly #degree: number
  readonly #alphabet: string
  /** Numbers before those of the strings of k letters, k = 1 … D, and of all of a position last. */
  readonly #before: number[] = [0]

  constructor(degree: number, alphabet: string) {
    this.#degree = degree
    this.#alphabet = alphabet
    this.text = `weighted-degree:${degree}${alphabet === DNA ? '' : `:${alphabet}`}`
    for (let k = 1; k <= degree; k++) this.#before.push(this.#before[k - 1] + alphabet.length ** k)
  }

  get #perPosition(): number {
    return this.#before[this.#degree]
  }

  features(positions: number): number {
    return positions * this.#perPosition
  }
  entries(letters: number): number {
    return letters * this.#degree
  }
  valueBytes(): number {
    return 4
  }

  get settings(): ExpansionStep['settings'] {
    const codes = new Uint8Array(256).fill(EXPAND_NO_LETTER)
    ;[...this.#alphabet].forEach((letter, code) => {
      codes[letter.charCodeAt(0)] = code
    })
    return { degree: this.#degree, letters: this.#alphabet.length, codes }
  }

  tooManyFeatures(): SpillwayError {
    const most = Math.floor((2 ** 32 - 2) / this.#perPosition)
    return new SpillwayError(
      `a string has more letters than ${this.text} has feature numbers for: ${this.#perPosition} a position, so at most ${most} letters`,
      'take a lower degree, or hash the features: +hash:22',
    )
  }

  expandRow({ indices, values }: ExpandedRow): ExpandedRow {
    const codes = values.map(value => this.#alphabet.indexOf(String.fromCharCode(value)))
    const result: ExpandedRow = { indices: [], values: [] }
    for (let p = 0; p < codes.length; p++) {
      let code = 0n
      for (let k = 1; k <= this.#degree; k++) {
        const at = p + k - 1
        if (at >= codes.length || codes[at] < 0 || indices[at] !== indices[p] + BigInt(k - 1)) break
        code = code * BigInt(this.#alphabet.length) + BigInt(codes[at])
        result.indices.push(indices[p] * BigInt(this.#perPosition) + BigInt(this.#before[k - 1]) + code)
        result.values.push(1)
      }
    }
    return result
  }

  /** `198:CAG` is CAG from position 198 on. */
  nameOf(feature: number, before: (feature: number) => string): string {
    const position = Math.floor(feature / this.#perPosition)
    let rest = feature - position * this.#perPosition
    let k = 1
    while (rest >= this.#before[k]) k++
    rest -= this.#before[k - 1]
    let string = ''
    for (let letter = 0; letter < k; letter++) {
      string = this.#alphabet[rest % this.#alphabet.length] + string
      rest = Math.floor(rest / this.#alphabet.length)
    }
    return `${before(position)}:${string}`
  }
}

export const weightedDegree: Expansion = {
  name: 'weighted-degree',
  summary: 'of strings: every string of 1 to D letters at its position',
  takes: ':D[:ALPHABET]',
  example: 'weighted-degree:3',
  parse(words) {
    const said = ['weighted-degree', ...words].join(':')
    const [degreeText = '', alphabetText = DNA, ...more] = words
    const degree = Number(degreeText)
    if (!/^\d+$/.test(degreeText) || degree < 1 || degree > MOST_DEGREE || more.length > 0) {
      throw new UsageError(
        `--expand has "${said}"; expected weighted-degree:D or weighted-degree:D:ALPHABET with a degree D from 1 to ${MOST_DEGREE}`,
      )
    }
    // Letters of the data are folded to upper case as they are read.
    const alphabet = alphabetText.toUpperCase()
    const fits = /^[!-~]+$/.test(alphabet) && !/[#:+]/.test(alphabet) && new Set(alphabet).size === alphabet.length
    if (!fits || alphabet.length < 2 || alphabet.length > MOST_LETTERS) {
      throw new UsageError(
        `--expand has the alphabet "${alphabetText}"; expected 2 to ${MOST_LETTERS} different letters, upper and lower case being the same`,
      )
    }
    const step = new WeightedDegree(degree, alphabet)
    if (step.features(1) > MOST_PER_POSITION) {
      throw new UsageError(
        `--expand has "${said}": ${alphabet.length} letters make ${step.features(1)} features a position; expected at most ${MOST_PER_POSITION}`,
        'take a lower degree',
      )
    }
    return step
  },
}
