// What `train` can be told, with its defaults and their limits: one list for the library and the command line.
import { UsageError } from '../errors.ts'
import { type ScaleKind, scaleKinds } from '../features/scale.ts'

export interface TrainOptions {
  loss?: string
  /** C in ½‖w‖² + C Σ loss. */
  cost?: number
  solver?: string
  /** Value of a feature added to every row; 0 for none. */
  bias?: number
  /** Cost multipliers by label as the user writes it. */
  classWeights?: Record<string, number>
  /** Relative duality gap to reach. */
  tolerance?: number
  maxPasses?: number
  seed?: number
  shrinking?: boolean
  normalize?: 'unit'
  scale?: ScaleKind
  /** Precision of the weights during training. */
  weights?: 'f64' | 'f32'
  /** Precision in which values are kept. */
  values?: 'f32' | 'f64'
  indexBase?: 0 | 1
  onBadRow?: 'fail' | 'skip'
  /** Parsing and certifying threads. */
  threads?: number
  signal?: AbortSignal
}

export type ResolvedOptions = Required<Omit<TrainOptions, 'normalize' | 'scale' | 'indexBase' | 'threads' | 'signal'>> &
  Pick<TrainOptions, 'normalize' | 'scale' | 'indexBase' | 'threads' | 'signal'>

export const DEFAULTS = {
  loss: 'hinge',
  cost: 1,
  solver: 'auto',
  bias: 0,
  classWeights: {},
  tolerance: 1e-3,
  maxPasses: 1000,
  seed: 1,
  shrinking: true,
  weights: 'f64',
  values: 'f32',
  onBadRow: 'fail',
} as const

/** Fills in defaults and refuses what cannot be: what, got, expected. */
export function resolveOptions(given: TrainOptions): ResolvedOptions {
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(DEFAULTS, key) && !['normalize', 'scale', 'indexBase', 'threads', 'signal'].includes(key)) {
      throw new UsageError(`there is no training option "${key}"`)
    }
  }
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const options = { ...DEFAULTS, ...said } as ResolvedOptions
  const number = (name: keyof TrainOptions, expected: string, fits: (value: number) => boolean): void => {
    const value = options[name] as number | undefined
    if (value === undefined) return
    if (typeof value !== 'number' || !Number.isFinite(value) || !fits(value)) {
      throw new UsageError(`${name} is ${JSON.stringify(value)}; expected ${expected}`)
    }
  }
  number('cost', 'a number above 0', value => value > 0)
  number('bias', 'a finite number', () => true)
  number('tolerance', 'a number above 0 and below 1', value => value > 0 && value < 1)
  number('maxPasses', 'a whole number of at least 1', value => Number.isInteger(value) && value >= 1)
  number('seed', 'a whole number from 0 to 2^53 − 1', value => Number.isSafeInteger(value) && value >= 0)
  number('threads', 'a whole number from 1 to 256', value => Number.isInteger(value) && value >= 1 && value <= 256)
  const choice = (name: keyof TrainOptions, choices: readonly unknown[]): void => {
    const value = options[name]
    if (value !== undefined && !choices.includes(value)) {
      throw new UsageError(`${name} is ${JSON.stringify(value)}; expected one of ${choices.join(', ')}`)
    }
  }
  choice('normalize', ['unit'])
  choice('scale', scaleKinds)
  choice('weights', ['f64', 'f32'])
  choice('values', ['f32', 'f64'])
  choice('indexBase', [0, 1])
  choice('onBadRow', ['fail', 'skip'])
  for (const [label, weight] of Object.entries(options.classWeights)) {
    if (!(weight > 0 && Number.isFinite(weight))) {
      throw new UsageError(`the class weight of label ${label} is ${weight}; expected a number above 0`)
    }
  }
  return options
}
