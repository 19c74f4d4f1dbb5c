// What a saved model's objective is on the rows of a text, in f64 throughout, by code that shares nothing with the program. The
// model comes as JSON, so that nothing is known of it but what anybody can read.

/** How values were read: to f32 as they stand in the text, or to f64. */
export type Values = 'f32' | 'f64'

export interface ExactProblem {
  loss: string
  cost: number
  classWeights: Record<string, number>
  values: Values
  multiclass?: string
  regularizer?: string
}

/** The JSON that `convert --to json` writes, as far as it is looked at here. */
export interface JsonModel {
  labels: { text: string }[]
  bias: number
  transforms: { normalize?: string; expand?: string }
  scaleFactors?: Record<string, number>
  rangeFactors?: Record<string, number>
  weights: { label: string; biasWeight?: number; weights: Record<string, number> }[]
}

interface TextRow {
  label: string
  entries: { feature: string; value: number }[]
}

function readText(text: string, values: Values): TextRow[] {
  const round = values === 'f32' ? Math.fround : (x: number): number => x
  return text
    .trim()
    .split('\n')
    .map(line => {
      const [label, ...entries] = line.split(' ')
      return {
        label,
        entries: entries.map(entry => {
          const [feature, value] = entry.split(':')
          return { feature, value: round(Number(value)) }
        }),
      }
    })
}

/** A kernel's row: `width` numbers for each value, by its bin; of a negative value their opposites. */
export type Expand = (value: number) => number[]

/** The scores of every row, one for each weight vector. */
export function exactScores(text: string, model: JsonModel, values: Values, expand?: Expand): number[][] {
  return readText(text, values).map(({ entries }) => {
    const factors = model.scaleFactors ?? model.rangeFactors ?? {}
    const scaled = entries.map(({ feature, value }) => ({ feature, value: value * (factors[feature] ?? 1) }))
    const row = expand
      ? scaled.flatMap(({ feature, value }) =>
          expand(value).map((x, k) => ({ feature: `${feature}(${k + 1})`, value: x })),
        )
      : scaled
    // Brought near 1 before squares are taken: those of 1e160 are no numbers.
    const largest = Math.max(0, ...row.map(({ value }) => Math.abs(value)))
    const length =
      model.transforms.normalize && largest > 0
        ? largest * Math.sqrt(row.reduce((sum, { value }) => sum + (value / largest) ** 2, 0))
        : 1
    return model.weights.map(({ weights, biasWeight = 0 }) =>
      row.reduce(
        (sum, { feature, value }) => sum + (weights[feature] ?? 0) * (value / length),
        model.bias * biasWeight,
      ),
    )
  })
}

function lossOf(loss: string, margin: number): number {
  const slack = Math.max(0, 1 - margin)
  if (loss === 'hinge') return slack
  if (loss === 'squared-hinge') return slack * slack
  return margin > 0 ? Math.log1p(Math.exp(-margin)) : Math.log1p(Math.exp(margin)) - margin
}

/** The objective, summed over the problems of all classes where each has its own. */
export function exactObjective(text: string, model: JsonModel, problem: ExactProblem, expand?: Expand): number {
  const { loss, cost, classWeights, values } = problem
  const scores = exactScores(text, model, values, expand)
  const labels = readText(text, values).map(row => row.label)
  const weightOf = (label: string): number => classWeights[label] ?? 1
  let sum = 0
  for (const { weights, biasWeight = 0 } of model.weights) {
    for (const w of [...Object.values(weights), biasWeight]) {
      sum += problem.regularizer === 'l1' ? Math.abs(w) : 0.5 * w * w
    }
  }
  if (problem.multiclass === 'crammer-singer') {
    labels.forEach((label, i) => {
      const own = model.weights.findIndex(vector => vector.label === label)
      const most = Math.max(...scores[i].map((score, k) => score + (k === own ? 0 : 1)))
      sum += cost * weightOf(label) * (most - scores[i][own])
    })
    return sum
  }
  const several = model.weights.length > 1
  model.weights.forEach((vector, k) => {
    labels.forEach((label, i) => {
      const positive = label === vector.label
      // Against the rest, only the class itself is weighted.
      const weight = several && !positive ? 1 : weightOf(label)
      sum += cost * weight * lossOf(loss, positive ? scores[i][k] : -scores[i][k])
    })
  })
  return sum
}
