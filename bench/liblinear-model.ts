// Reads a model in LIBLINEAR's text format, the one format in which every peer hands its model to the evaluator.
import { forEachLine, parseNumber } from './libsvm-text.ts'

export interface LinearModel {
  /** In the file's order: a positive score means the first of two labels. */
  labels: number[]
  features: number
  /** Value of the added feature; 0 when the model has none. */
  bias: number
  /** Weight vectors: one for two classes, one for each of more. */
  count: number
  /** Of feature j (from 0) and vector k at j·count + k; the bias weights, if any, come last. */
  weights: Float64Array
}

export async function readLiblinearModel(file: string): Promise<LinearModel> {
  const header = new Map<string, string>()
  let model: LinearModel | undefined
  let at = 0
  await forEachLine(file, (bytes, start, end) => {
    if (!model) {
      const [key, ...rest] = bytes.toString('latin1', start, end).trim().split(/\s+/)
      if (key === 'w') model = emptyModel(file, header)
      else header.set(key, rest.join(' '))
      return
    }
    // One line a feature, `count` numbers in it.
    for (let from = start; from < end; ) {
      let to = from
      while (to < end && bytes[to] !== 32) to++
      if (to > from) {
        if (at === model.weights.length) throw new Error(`${file}: more weights than the ${at} its header announces`)
        model.weights[at++] = parseNumber(bytes, from, to)
      }
      from = to + 1
    }
  })
  if (!model) throw new Error(`${file}: no line "w", so this is no LIBLINEAR model`)
  if (at !== model.weights.length)
    throw new Error(`${file}: ${at} weights; its header announces ${model.weights.length}`)
  return model
}

function emptyModel(file: string, header: Map<string, string>): LinearModel {
  const field = (name: string): string => {
    const text = header.get(name)
    if (text === undefined) throw new Error(`${file}: the header has no ${name}`)
    return text
  }
  const classes = Number(field('nr_class'))
  const features = Number(field('nr_feature'))
  const bias = Math.max(0, Number(field('bias')))
  const added = Number(field('bias')) >= 0 ? 1 : 0
  // Crammer and Singer's method is the one that keeps two vectors for two classes.
  const count = classes === 2 && field('solver_type') !== 'MCSVM_CS' ? 1 : classes
  return {
    labels: field('label').split(' ').map(Number),
    features,
    bias,
    count,
    weights: new Float64Array((features + added) * count),
  }
}
