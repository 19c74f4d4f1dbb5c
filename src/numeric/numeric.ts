// The compiled loops of assembly/, instantiated over one shared memory. Each thread makes its own instance from the
// same compiled module and the same memory; only {module, memory} crosses to a worker.
import { readFileSync } from 'node:fs'

// The part of the WebAssembly API in use here: TypeScript ships it only with the browser's library.
interface WebAssemblyMemory {
  readonly buffer: SharedArrayBuffer
}
type WebAssemblyModule = object
interface WebAssemblyApi {
  Module: new (bytes: ArrayBufferView) => WebAssemblyModule
  Memory: new (descriptor: { initial: number; maximum: number; shared: true }) => WebAssemblyMemory
  Instance: new (
    module: WebAssemblyModule,
    imports: Record<string, Record<string, unknown>>,
  ) => { exports: Record<string, unknown> }
}
const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi }

/** The functions that assembly/index.ts exports. Addresses are bytes in the shared memory. */
export interface NumericFunctions {
  allocate(bytes: number): number
  iota(array: number, count: number): void
  shuffle(array: number, count: number, state: number): void
  dotF64(row: number, w: number): number
  dotF32(row: number, w: number): number
  axpyF64(row: number, step: number, w: number): void
  axpyF32(row: number, step: number, w: number): void
  squaredNorm(row: number): number
  bringRows(rows: number, order: number, from: number, to: number, beside: number, bytesBeside: number): void
  bringColumns(starts: number, order: number, from: number, to: number, entries: number, values: number): void
  wordsTouched(): number
  recordBytes(row: number): number
  binRows(table: number, from: number, to: number, factors: number, bins: number, signs: boolean, unit: boolean): void
  findOutside(batch: number): number
  roundBatch(batch: number, bins: number): void
  gatherRanges(table: number, from: number, to: number, ranges: number): void
  fitBatch(batch: number, ranges: number, features: number, bins: number): void
  squaredLengthF64(w: number, count: number): number
  squaredLengthF32(w: number, count: number): number
  sweepBoxF64(problem: number, sweep: number, budget: number): number
  sweepBoxF32(problem: number, sweep: number, budget: number): number
  sweepLogisticF64(problem: number, sweep: number, budget: number): number
  sweepLogisticF32(problem: number, sweep: number, budget: number): number
  startEntropicF64(problem: number, order: number, listed: number): void
  visitedSums(problem: number, count: number, margins: number, alpha: number, sums: number): void
  rowWorth(problem: number, count: number, worth: number): void
  startEntropicF32(problem: number, order: number, listed: number): void
  addDualF64(problem: number, from: number, to: number, stride: number): void
  addDualF32(problem: number, from: number, to: number, stride: number): void
  pegasosRowsF64(problem: number, order: number, before: number, all: number, ball: number): number
  pegasosRowsF32(problem: number, order: number, before: number, all: number, ball: number): number
  pegasosBlockF64(problem: number, list: number, before: number, all: number, ball: number): number
  pegasosBlockF32(problem: number, list: number, before: number, all: number, ball: number): number
  growBallF64(problem: number, ball: number): void
  growBallF32(problem: number, ball: number): void
  evaluateF64(problem: number, from: number, to: number, sums: number): void
  evaluateF32(problem: number, from: number, to: number, sums: number): void
  alongF64(problem: number, from: number, to: number, along: number): void
  alongF32(problem: number, from: number, to: number, along: number): void
  alongTogether(problem: number, from: number, to: number, scores: number, along: number): void
  alongBundle2(bundle: number, from: number, to: number, along: number): void
  alongBundle4(bundle: number, from: number, to: number, along: number): void
  alongBundle8(bundle: number, from: number, to: number, along: number): void
  sweepTogether(problem: number, sweep: number, budget: number): number
  evaluateTogether(problem: number, from: number, to: number, scores: number, sums: number): void
  addDualTogether(problem: number, from: number, to: number): void
  scoreTogether(row: number, w: number, stride: number, biasWeights: number, bias: number, out: number): void
  scoreSome(
    ...args: [
      row: number,
      w: number,
      stride: number,
      biasWeights: number,
      bias: number,
      list: number,
      count: number,
      out: number,
    ]
  ): void
  addSome(
    ...args: [
      row: number,
      w: number,
      stride: number,
      biasWeights: number,
      bias: number,
      list: number,
      count: number,
      steps: number,
    ]
  ): void
  solveSimplex(values: number, count: number, curvature: number, cost: number, scratch: number): void
  parseLibsvm(state: number, batch: number): void
  parseLabelString(state: number, batch: number): void
  expandWeightedDegree(state: number, from: number, to: number): void
  expandPolynomial(state: number, from: number, to: number): void
  expandTable(state: number, from: number, to: number): void
  expandHash(state: number, from: number, to: number): void
  hashFeatures(features: number, count: number, bits: number, out: number): void
  numberLabels(
    ...args: [
      labels: number,
      rows: number,
      codes: number,
      firsts: number,
      table: number,
      slots: number,
      labelAt: number,
    ]
  ): number
  packBatch(state: number, batch: number): number
  workOf(table: number, rows: number): number
  relabelRows(table: number, rows: number, map: number): void
  xxh64(data: number, bytes: number): bigint
  assignRows(
    ...args: [
      batch: number,
      blocks: number,
      seed: bigint,
      chunk: number,
      first: number,
      order: number,
      counts: number,
      drawn: number,
    ]
  ): void
  encodeSegment(state: number): number
  sealSegment(header: number): void
  decodeSegment(header: number, payload: number, bytes: number, batch: number, scratch: number): number
  enterBatch(top: number, batch: number): number
  enterFeatures(top: number, features: number, count: number): number
  enterRows(top: number, table: number, from: number, to: number, longestDense: number): number
  mergeMap(top: number, other: number): void
  countFeatures(top: number, table: number, rows: number, step: number, counts: number): void
  orderByFrequency(counts: number, features: number, fixed: number, scratch: number): void
  finishMap(top: number): number
  listFeatures(top: number, out: number): void
  renumberRows(top: number, places: number, table: number, from: number, to: number): number
  renumberBatch(top: number, batch: number): void
  gatherExtremes(table: number, from: number, to: number, extremes: number): void
  gatherMoments(table: number, from: number, to: number, moments: number): void
  scaleRows(table: number, from: number, to: number, factors: number, unit: boolean): void
  scoreBatch(
    batch: number,
    weights: number,
    features: number,
    models: number,
    bias: number,
    factors: number,
    unit: boolean,
    scores: number,
    narrow?: boolean,
  ): void
  listAbsent(
    ...args: [
      set: number,
      order: number,
      listed: number,
      numbers: number,
      first: number,
      rows: number,
      firstNumber: number,
    ]
  ): number
  keepListed(order: number, count: number, table: number, alpha: number, stride: number): void
  takeInF64(
    ...args: [
      set: number,
      problem: number,
      order: number,
      count: number,
      numbers: number,
      alpha: number,
      gradients: number,
    ]
  ): void
  takeInF32(
    ...args: [
      set: number,
      problem: number,
      order: number,
      count: number,
      numbers: number,
      alpha: number,
      gradients: number,
    ]
  ): void
  listNear(set: number, problem: number, order: number, nearness: number): number
  settleAlpha(set: number): void
  enterEvaluated(
    ...args: [
      set: number,
      problem: number,
      count: number,
      order: number,
      numbers: number,
      alpha: number,
      margins: number,
    ]
  ): void
  adoptRows(set: number, from: number, places: number, features: number, map: number): void
  followWeights(w: number, copy: number, count: number): number
  numberFeatures(dictionary: number, rows: number, count: number, order: number): number
  placeRows(seed: bigint, chunk: number, rows: number, blocks: number, next: number, places: number): void
  placeAlpha(from: number, places: number, rows: number, to: number, stride: number): void
  placeWeightsF64(features: number, count: number, map: number, from: number, to: number): void
  placeWeightsF32(features: number, count: number, map: number, from: number, to: number): void
  placeFeatures(features: number, map: number, row: number): void
  copyStrided(
    ...args: [from: number, fromStride: number, to: number, toStride: number, bytes: number, count: number]
  ): void
  gatherListed(...args: [from: number, stride: number, numbers: number, to: number, bytes: number, count: number]): void
  scatterListed(
    ...args: [from: number, bytes: number, numbers: number, to: number, stride: number, count: number]
  ): void
  sweepBundle2(bundle: number, sweep: number, budget: number): number
  evaluateBundle2(bundle: number, from: number, to: number, sums: number): void
  scoreHeldOut2(...args: [bundle: number, from: number, to: number, scores: number, rows: number, dots: number]): void
  squaredLengths2(w: number, count: number, out: number): void
  startEntropicBundle2(bundle: number, count: number): void
  addDualBundle2(bundle: number, count: number): void
  sweepBundle4(bundle: number, sweep: number, budget: number): number
  evaluateBundle4(bundle: number, from: number, to: number, sums: number): void
  scoreHeldOut4(...args: [bundle: number, from: number, to: number, scores: number, rows: number, dots: number]): void
  squaredLengths4(w: number, count: number, out: number): void
  startEntropicBundle4(bundle: number, count: number): void
  addDualBundle4(bundle: number, count: number): void
  sweepBundle8(bundle: number, sweep: number, budget: number): number
  evaluateBundle8(bundle: number, from: number, to: number, sums: number): void
  scoreHeldOut8(...args: [bundle: number, from: number, to: number, scores: number, rows: number, dots: number]): void
  squaredLengths8(w: number, count: number, out: number): void
  startEntropicBundle8(bundle: number, count: number): void
  addDualBundle8(bundle: number, count: number): void
  sweepBoxPartedF64(problem: number, sweep: number, budget: number): number
  sweepBoxPartedF32(problem: number, sweep: number, budget: number): number
  sweepLogisticPartedF64(problem: number, sweep: number, budget: number): number
  sweepLogisticPartedF32(problem: number, sweep: number, budget: number): number
  mergeHotF64(w: number, own: number, seen: number, count: number, lock: number): void
  mergeHotF32(w: number, own: number, seen: number, count: number, lock: number): void
  countOccurrences(table: number, rows: number, step: number, counts: number): number
  renumberEntries(numbers: number, table: number, from: number, to: number): void
  renumberWeightsF64(numbers: number, count: number, w: number, scratch: number): void
  renumberWeightsF32(numbers: number, count: number, w: number, scratch: number): void
  invertNumbers(numbers: number, count: number, inverse: number): void
  sumReplicasF64(
    ...args: [w: number, base: number, replicas: number, stride: number, count: number, weights: number]
  ): number
  sumReplicasF32(
    ...args: [w: number, base: number, replicas: number, stride: number, count: number, weights: number]
  ): number
  withoutReplicasF64(
    ...args: [w: number, base: number, replicas: number, stride: number, count: number, weights: number]
  ): void
  withoutReplicasF32(
    ...args: [w: number, base: number, replicas: number, stride: number, count: number, weights: number]
  ): void
  countColumns(table: number, rows: number, counts: number): number
  startColumns(counts: number, columns: number): void
  fillColumns(
    ...args: [
      problem: number,
      rows: number,
      next: number,
      entries: number,
      values: number,
      positive: number,
      negative: number,
    ]
  ): void
  rowCosts(problem: number, rows: number, costs: number, positive: number, negative: number): void
  columnBounds(l1: number, weighted: boolean): void
  addColumns(l1: number, w: number, sign: number, out: number): void
  lengthL1(w: number, count: number): number
  steepest(v: number, count: number): number
  sweepL1Squared(l1: number, budget: number): number
  stateOfSquared(l1: number): void
  sumsOfSquared(l1: number): number
  marginsOfColumns(l1: number): void
  startModel(l1: number): void
  sweepL1Logistic(l1: number, budget: number): number
  directionL1(l1: number, budget: number): number
  stepL1(l1: number, least: number): number
  stepL1Squared(l1: number, least: number): number
  newtonL1(
    ...args: [l1: number, logistic: boolean, damping: number, share: number, rounds: number, budget: number]
  ): void
  clipNewton(l1: number, t: number): void
  dualOfLogistic(l1: number, factor: number): number
  evaluateL1(problem: number, from: number, to: number, sums: number): void
  shortenDual(problem: number, rows: number, factor: number): number
  generateRows(plan: number, slot: number, out: number, rows: number, chunk: number, stream: number): number
}

/** What crosses a thread boundary. */
export interface NumericShare {
  module: WebAssemblyModule
  memory: WebAssemblyMemory
}

let compiled: WebAssemblyModule | undefined

/** Compiles the module once a process and makes a fresh memory of two pages that can grow to 4 GiB. */
export function newNumericShare(): NumericShare {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('./numeric.wasm', import.meta.url)))
  return { module: compiled, memory: new WebAssembly.Memory({ initial: 2, maximum: 65536, shared: true }) }
}

export function instantiateNumeric(share: NumericShare): NumericFunctions {
  const instance = new WebAssembly.Instance(share.module, { env: { memory: share.memory } })
  return instance.exports as unknown as NumericFunctions
}
