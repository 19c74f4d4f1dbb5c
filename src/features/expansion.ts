// What an expansion is to the rest of the program: a step that makes other features of a row's features, each time the row is
// decoded. Steps are told by a text such as `weighted-degree:8+hash:22`, and only that text crosses to threads and into files.
// Nothing here or in the steps needs Node, so that a model with an expansion loads in a browser, too.
import type { SpillwayError } from '../errors.ts'

/** A row whose feature numbers may pass 2^32. */
export interface ExpandedRow {
  indices: bigint[]
  values: number[]
}

/** An entry of the list of expansions. */
export interface Expansion {
  name: string
  summary: string
  /** What follows the name in --expand, e.g. `:BITS`, or `[:BINS]` when it may be left out. */
  takes: string
  /** As a user may write it; the contract tests try it. */
  example: string
  /** The step that these words ask for, which stand between colons behind the name; refuses what cannot be. */
  parse(words: string[]): ExpansionStep
}

export interface ExpansionStep {
  /** In full, as a user may write it: the one form in models, checkpoints and messages. */
  text: string
  /** Whether it makes its features of letters; such a step comes first. */
  letters: boolean
  /** Whether it hashes: it takes feature numbers beyond 2^32 from the step before, and comes last. */
  hashes: boolean
  /** Whether every value of a row is the same. */
  constant: boolean
  /** Whether entries grow in proportion, so that sums over rows tell how many there will be. */
  proportional: boolean
  /** How many features rows of so many features get, 2^32 and more included. */
  features(before: number): number
  /** The most entries that a row of so many gets. */
  entries(before: number): number
  /** Bytes of a value, given those of the rows before. */
  valueBytes(before: number): number
  /** The compiled loop, and what it has to be told: see EXPAND_ in numeric/layouts.ts. */
  loop: 'expandWeightedDegree' | 'expandPolynomial' | 'expandTable' | 'expandHash'
  settings: {
    degree?: number
    letters?: number
    codes?: Uint8Array
    bits?: number
    /** `width` values for each of the values 0, 1/bins, … 1 of an entry. */
    table?: Float64Array
    width?: number
    bins?: number
    /** What becomes of values that the table does not have: one of EXPAND_BEYOND_; and the period of homogeneous maps. */
    beyond?: number
    period?: number
  }
  /** The words for a row whose feature numbers pass 2^32. */
  tooManyFeatures(): SpillwayError
  /** The words for a row with this value, which is below 0 or no number, of a step that cannot have such. */
  negativeValue?(value: number): SpillwayError
  /** The same for one row, written to be read: the loop is tested against it. `round` rounds a value as it is kept. */
  expandRow(row: ExpandedRow, round: (value: number) => number): ExpandedRow
  /** Of a step that hashes: where a feature falls. */
  placeOf?(feature: number): number
  /** A feature's name, given the names of the features it is made of. */
  nameOf(feature: number, before: (feature: number) => string): string
}
