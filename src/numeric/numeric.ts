// The compiled loops of assembly/, instantiated over one shared memory. Each thread makes its own instance from the
// same compiled module and the same memory; only {module, memory} crosses to a worker.
import { readFileSync } from 'node:fs'
import type { Address, ByteCount } from '../sizes.ts'

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

/** Loops that there are for weights of both precisions: sweepBoxF64 and sweepBoxF32. */
interface ForEachPrecision {
  dot(row: Address, w: Address): number
  axpy(row: Address, step: number, w: Address): void
  squaredLength(w: Address, count: number): number
  sweepBox(problem: Address, sweep: Address, budget: number): number
  sweepLogistic(problem: Address, sweep: Address, budget: number): number
  startEntropic(problem: Address, order: Address, listed: number): void
  addDual(problem: Address, from: number, to: number, stride: number): void
  pegasosRows(problem: Address, order: Address, before: number, all: number, ball: number): number
  pegasosBlock(problem: Address, list: Address, before: number, all: number, ball: number): number
  growBall(problem: Address, ball: Address): void
  evaluate(problem: Address, from: number, to: number, sums: Address): void
  evaluateAlong(problem: Address, from: number, to: number, sums: Address, along: Address): void
  findOutliers(
    problem: Address,
    from: number,
    to: number,
    limit: number,
    factor: number,
    marks: Address,
    parts: Address,
    sums: Address,
    folds: Address,
    heldOut: number,
  ): void
  takeOut(weights: Address, parts: Address, count: number): void
  along(problem: Address, from: number, to: number, along: Address): void
  takeIn(
    ...args: [
      set: Address,
      problem: Address,
      order: Address,
      count: number,
      numbers: Address,
      alpha: Address,
      gradients: Address,
    ]
  ): void
  placeWeights(features: Address, count: number, map: Address, from: Address, to: Address): void
  sweepBoxParted(problem: Address, sweep: Address, budget: number): number
  sweepLogisticParted(problem: Address, sweep: Address, budget: number): number
  mergeHot(w: Address, own: Address, seen: Address, count: number, lock: Address): number
  renumberWeights(numbers: Address, count: number, w: Address, scratch: Address): void
  sumReplicas(
    ...args: [w: Address, base: Address, replicas: Address, stride: number, count: number, weights: number]
  ): number
  withoutReplicas(
    ...args: [w: Address, base: Address, replicas: Address, stride: number, count: number, weights: number]
  ): void
}

/** Loops that there are for bundles of up to two, four and eight models: sweepBundle2, sweepBundle4 and sweepBundle8. */
interface ForEachWidth {
  alongBundle(bundle: Address, from: number, to: number, along: Address): void
  sweepBundle(bundle: Address, sweep: Address, budget: number): number
  evaluateBundle(bundle: Address, from: number, to: number, sums: Address): void
  scoreHeldOut(...args: [bundle: Address, from: number, to: number, scores: Address, rows: number, dots: Address]): void
  squaredLengths(w: Address, count: number, out: Address): void
  startEntropicBundle(bundle: Address, count: number): void
  addDualBundle(bundle: Address, count: number): void
  carryOnBundle(
    ...args: [bundle: Address, count: number, weightCount: number, beforeAlpha: Address, beforeWeights: Address]
  ): number
}

type ByPrecision = {
  [Loop in keyof ForEachPrecision as `${Loop}F64` | `${Loop}F32`]: ForEachPrecision[Loop]
}

type ByWidth = {
  [Loop in keyof ForEachWidth as `${Loop}2` | `${Loop}4` | `${Loop}8`]: ForEachWidth[Loop]
}

/** The functions that assembly/index.ts exports. Addresses are bytes in the shared memory. */
export interface NumericFunctions extends ByPrecision, ByWidth {
  allocate(bytes: ByteCount): number
  iota(array: Address, count: number): void
  shuffle(array: Address, count: number, state: Address): void
  shuffleNear(array: Address, count: number, bound: number, marks: Address, state: Address): void
  squaredNorm(row: Address): number
  bringRows(rows: Address, order: Address, from: number, to: number, beside: Address, bytesBeside: ByteCount): void
  bringWeightsF64(rows: Address, order: Address, from: number, to: number, weights: Address): void
  bringWeightsF32(rows: Address, order: Address, from: number, to: number, weights: Address): void
  bringOn(rows: Address, order: Address, to: number, end: number, beside: Address, bytesBeside: ByteCount): void
  bringColumns(starts: Address, order: Address, from: number, to: number, entries: Address, values: Address): void
  wordsTouched(): number
  halvesKind(table: Address, rows: number): number
  splitRows(table: Address, from: number, to: number, splits: Address, half: number): void
  startHalves(halves: Address): void
  sweepHalvesFirst(problem: Address, sweep: Address, halves: Address, budget: number): number
  sweepHalvesAlone(problem: Address, sweep: Address, halves: Address, budget: number): number
  sweepHalvesSecond(problem: Address, sweep: Address, halves: Address, active: number): void
  recordBytes(row: Address): ByteCount
  copyRecords(table: Address, count: number, to: Address, listed: Address): Address
  finishRow(row: Address, unit: boolean): void
  nearestPivot(
    ...args: [
      table: Address,
      count: number,
      vector: Address,
      squares: number,
      pivot: number,
      best: Address,
      assigned: Address,
    ]
  ): void
  sumRows(table: Address, count: number, step: number, vector: Address): void
  clearRow(row: Address, vector: Address): void
  spreadAbout(table: Address, count: number, vector: Address, squares: number, spread: Address): void
  boxOf(
    ...args: [
      table: Address,
      count: number,
      features: number,
      least: Address,
      largest: Address,
      seen: Address,
      entries: Address,
    ]
  ): void
  findInLeaf(page: Address, query: Address): number
  pushBin(query: Address, bin: Address): void
  popBin(query: Address, bin: Address): number
  rowsWaiting(query: Address): number
  childCount(page: Address): number
  openNode(page: Address, query: Address): void
  countBits(bitmap: Address, count: number): number
  binRows(table: Address, from: number, to: number, factors: Address, bins: number, signs: boolean, unit: boolean): void
  findOutside(batch: Address): number
  roundBatch(batch: Address, bins: number): void
  gatherRanges(table: Address, from: number, to: number, ranges: Address): void
  fitBatch(batch: Address, ranges: Address, features: number, bins: number): void
  visitedSums(problem: Address, count: number, margins: Address, alpha: Address, sums: Address): void
  rowWorth(problem: Address, count: number, worth: Address): void
  carryOn(
    ...args: [
      problem: Address,
      count: number,
      weightCount: number,
      beforeAlpha: Address,
      beforeWeights: Address,
      share: number,
    ]
  ): number
  carryRows(problem: Address, from: number, to: number, before: Address, share: number): number
  carryWeights(w: Address, before: Address, count: number, share: number): number
  dualParts(problem: Address, count: number): number
  keepMarginsL2(l1: Address): void
  lossL2Logistic(l1: Address): number
  startL2Logistic(l1: Address): void
  sweepL2(l1: Address, logistic: boolean, budget: number): number
  adagradRows(problem: Address, from: number, to: number, w: Address, n: number, state: Address): void
  addSquares(row: Address, to: Address, amount: number): void
  writeEntries(row: Address, indices: Address, values: Address): number
  slopeRows(
    problem: Address,
    from: number,
    to: number,
    v: Address,
    diagonals: Address,
    matrix: Address,
    n: number,
    scratch: Address,
    sums: Address,
  ): void
  dualOfMargins(problem: Address, count: number, alpha: Address): void
  curvatureRows(problem: Address, from: number, to: number, d: Address, product: Address): void
  scoreHeldOutRows(problem: Address, from: number, to: number, column: Address): void
  lineRows(problem: Address, from: number, to: number, d: Address, steps: Address, count: number, slopes: Address): void
  slopeSoftmax(
    problem: Address,
    from: number,
    to: number,
    v: Address,
    diagonals: Address,
    matrix: Address,
    n: number,
    scratch: Address,
    sums: Address,
    room: Address,
  ): void
  curvatureSoftmax(problem: Address, from: number, to: number, d: Address, product: Address, room: Address): void
  evaluateSoftmax(problem: Address, from: number, to: number, room: Address, sums: Address): void
  innerProduct(a: Address, b: Address, count: number): number
  moveTowards(to: Address, from: Address, step: number, count: number): void
  listDiagonals(problem: Address, from: number, to: number, out: Address): void
  stepSums(problem: Address, from: number, to: number, before: Address, diagonals: Address, sums: Address): void
  stepSumsTogether(problem: Address, from: number, to: number, before: Address, sums: Address): void
  entropyAlong(alpha: Address, before: Address, step: number, rows: number): number
  freeRows(
    ...args: [problem: Address, from: number, to: number, slopes: Address, seconds: Address, holding: number]
  ): void
  overRows(problem: Address, from: number, to: number, slopes: Address, seconds: Address, out: Address): void
  addMoves(problem: Address, from: number, to: number, moves: Address, u: Address): void
  timesMoves(
    ...args: [problem: Address, from: number, to: number, moves: Address, seconds: Address, u: Address, out: Address]
  ): void
  makeMoves(problem: Address, from: number, to: number, moves: Address): void
  combine(to: Address, s: number, a: Address, t: number, b: Address, count: number): void
  precondition(to: Address, a: Address, b: Address, count: number): void
  factorCholesky(matrix: Address, n: number, damping: number, diagonal: Address, largest: Address): number
  foldTriangles(matrix: Address, n: number): void
  gatherPieces(to: Address, first: Address, pieces: number, stride: number, count: number): void
  solveCholesky(matrix: Address, n: number, x: Address): void
  leaveOut(alpha: Address, marks: Address, rows: number): void
  alongSoftmax(problem: Address, from: number, to: number, scores: Address, along: Address): void
  alongTogether(problem: Address, from: number, to: number, scores: Address, along: Address): void
  sweepTogether(problem: Address, sweep: Address, budget: number): number
  evaluateTogether(problem: Address, from: number, to: number, scores: Address, sums: Address): void
  addDualTogether(problem: Address, from: number, to: number): void
  scoreTogether(row: Address, w: Address, stride: number, biasWeights: Address, bias: number, out: Address): void
  scoreSome(
    ...args: [
      row: Address,
      w: Address,
      stride: number,
      biasWeights: Address,
      bias: number,
      list: Address,
      count: number,
      out: Address,
    ]
  ): void
  addSome(
    ...args: [
      row: Address,
      w: Address,
      stride: number,
      biasWeights: Address,
      bias: number,
      list: Address,
      count: number,
      steps: Address,
    ]
  ): void
  addRowTogether(row: Address, to: Address, stride: number, biasTo: Address, bias: number, steps: Address): void
  addSquaresTogether(row: Address, to: Address, stride: number, biasTo: Address, bias: number, steps: Address): void
  solveSimplex(values: Address, count: number, curvature: number, cost: number, scratch: Address): void
  parseLibsvm(state: Address, batch: Address): void
  parseLabelString(state: Address, batch: Address): void
  parseTable(state: Address, batch: Address, table: Address): void
  scanTable(state: Address, table: Address): void
  checkColumns(table: Address, rows: number, valueBytes: ByteCount): number
  parseColumns(state: Address, batch: Address, table: Address): void
  scanColumns(state: Address, table: Address): void
  numbersToCells(kind: number, from: Address, count: number, cells: Address, factor: number): number
  spreadCells(cells: Address, levels: Address, rows: number, present: number, texts: boolean): void
  blankCells(cells: Address, bits: Address, rows: number, texts: boolean): void
  textsToCells(from: Address, end: Address, count: number, cells: Address): number
  offsetsToCells(offsets: Address, count: number, texts: Address, bytes: ByteCount, cells: Address): number
  lengthsToCells(cells: Address, count: number, texts: Address, end: Address): number
  lookUpCells(numbers: Address, count: number, dictionary: Address, size: number, cells: Address): number
  replaceCells(cells: Address, count: number, dictionary: Address, size: number, texts: boolean): number
  cellsToTexts(cells: Address, count: number, texts: Address): number
  unpackSnappy(from: Address, end: Address, to: Address, bytes: ByteCount): number
  unpackRuns(from: Address, end: Address, width: number, count: number, to: Address): number
  unpackDeltas(from: Address, end: Address, count: number, to: Address, kind: number): number
  gatherBytes(from: Address, count: number, width: ByteCount, to: Address): void
  areAllPresent(from: Address, end: Address, count: number): number
  countPresent(levels: Address, count: number): number
  mergeValues(
    ...args: [scanned: Address, values: Address, first: number, count: number, texts: Address, textsEnd: Address]
  ): number
  endOfMerged(): Address
  growList(scanned: Address, table: Address, slots: number, entries: Address): void
  listValues(column: Address, count: number): void
  expandWeightedDegree(state: Address, from: Address, to: Address): void
  expandPolynomial(state: Address, from: Address, to: Address): void
  expandTable(state: Address, from: Address, to: Address): void
  expandHash(state: Address, from: Address, to: Address): void
  hashFeatures(features: Address, count: number, bits: number, out: Address): void
  numberLabels(
    ...args: [
      labels: Address,
      rows: number,
      codes: Address,
      firsts: Address,
      table: Address,
      slots: number,
      labelAt: Address,
    ]
  ): number
  packBatch(state: Address, batch: Address): number
  workOf(table: Address, rows: number): number
  relabelRows(table: Address, rows: number, map: Address): void
  xxh64(data: Address, bytes: ByteCount): bigint
  xxh64Stripes(lanes: Address, data: Address, bytes: ByteCount): void
  assignRows(
    ...args: [
      batch: Address,
      blocks: number,
      spread: number,
      seed: bigint,
      chunk: number,
      first: number,
      order: Address,
      counts: Address,
      drawn: Address,
    ]
  ): void
  encodeSegment(state: Address): number
  sealSegment(header: Address): void
  decodeSegment(header: Address, payload: Address, bytes: ByteCount, batch: Address, scratch: Address): number
  enterBatch(top: Address, batch: Address): number
  enterFeatures(top: Address, features: Address, count: number): number
  enterRows(top: Address, table: Address, from: number, to: number, longestDense: Address): number
  mergeMap(top: Address, other: Address): void
  countFeatures(top: Address, table: Address, rows: number, step: number, counts: Address): void
  orderByFrequency(counts: Address, features: number, fixed: number, scratch: Address): void
  finishMap(top: Address): number
  listFeatures(top: Address, out: Address): void
  spreadPlaces(features: Address, places: Address, count: number, all: Address): void
  pickPlaces(all: Address, features: Address, count: number, picked: Address): void
  renumberRows(top: Address, places: Address, table: Address, from: number, to: number): number
  renumberBatch(top: Address, batch: Address): void
  gatherExtremes(table: Address, from: number, to: number, extremes: Address): void
  gatherCounts(table: Address, from: number, to: number, classes: number, counts: Address): void
  gatherMoments(table: Address, from: number, to: number, below: number, moments: Address): void
  scaleRows(table: Address, from: number, to: number, factors: Address, unit: boolean): void
  scoreBatch(
    batch: Address,
    weights: Address,
    features: number,
    models: number,
    bias: Address,
    factors: Address,
    unit: boolean,
    scores: Address,
    narrow?: boolean,
  ): void
  listAbsent(
    ...args: [
      set: Address,
      order: Address,
      listed: number,
      numbers: Address,
      first: number,
      rows: number,
      firstNumber: number,
    ]
  ): number
  keepListed(order: Address, count: number, table: Address, alpha: Address, stride: number, weights: Address): void
  listNear(set: Address, problem: Address, order: Address, nearness: number, most: number): number
  settleAlpha(set: Address): void
  enterEvaluated(
    ...args: [
      set: Address,
      problem: Address,
      count: number,
      order: Address,
      numbers: Address,
      alpha: Address,
      margins: Address,
    ]
  ): void
  adoptRows(set: Address, from: Address, places: Address, features: Address, map: Address): void
  followWeights(w: Address, copy: Address, count: number): number
  numberFeatures(dictionary: Address, rows: Address, count: number, order: Address): number
  placeRows(
    ...args: [seed: bigint, chunk: number, rows: number, blocks: number, spread: number, next: Address, places: Address]
  ): void
  placeAlpha(from: Address, places: Address, rows: number, to: Address, stride: number): void
  placeFeatures(features: Address, map: Address, row: Address): void
  copyStrided(
    ...args: [from: Address, fromStride: number, to: Address, toStride: number, bytes: ByteCount, count: number]
  ): void
  gatherListed(
    ...args: [from: Address, stride: number, numbers: Address, to: Address, bytes: ByteCount, count: number]
  ): void
  scatterListed(
    ...args: [from: Address, bytes: ByteCount, numbers: Address, to: Address, stride: number, count: number]
  ): void
  countOccurrences(table: Address, rows: number, step: number, counts: Address): number
  renumberEntries(numbers: Address, table: Address, from: number, to: number): void
  invertNumbers(numbers: Address, count: number, inverse: Address): void
  countColumns(table: Address, rows: number, counts: Address): number
  startColumns(counts: Address, columns: number): void
  fillColumns(
    ...args: [
      problem: Address,
      rows: number,
      next: Address,
      entries: Address,
      values: Address,
      positive: number,
      negative: number,
    ]
  ): void
  rowCosts(problem: Address, rows: number, costs: Address, positive: number, negative: number): void
  columnBounds(l1: Address, weighted: boolean): void
  addColumns(l1: Address, w: Address, sign: number, out: Address): void
  lengthL1(w: Address, count: number): number
  steepest(v: Address, count: number): number
  interiorRows(
    ...args: [
      problem: Address,
      from: number,
      to: number,
      state: Address,
      moved: Address,
      share: number,
      keep: number,
      mu: number,
      v: Address,
      affine: Address,
      centring: Address,
      matrix: Address,
      n: number,
      scratch: Address,
      sums: Address,
      allRows: number,
    ]
  ): void
  reachRows(
    ...args: [
      problem: Address,
      from: number,
      to: number,
      state: Address,
      affine: Address,
      centring: Address,
      aims: Address,
      count: number,
      shares: Address,
    ]
  ): void
  sweepL1Squared(l1: Address, budget: number): number
  stateOfSquared(l1: Address): void
  sumsOfSquared(l1: Address): number
  marginsOfColumns(l1: Address): void
  startModel(l1: Address): void
  sweepL1Logistic(l1: Address, budget: number): number
  directionL1(l1: Address, budget: number): number
  stepL1(l1: Address, sparse: boolean, least: number): number
  stepL1Squared(l1: Address, sparse: boolean, least: number): number
  newtonL1(
    ...args: [
      l1: Address,
      logistic: boolean,
      sparse: boolean,
      damping: number,
      share: number,
      rounds: number,
      budget: number,
    ]
  ): void
  clipNewton(l1: Address, sparse: boolean, t: number): void
  dualOfLogistic(l1: Address, factor: number): number
  evaluateL1(problem: Address, from: number, to: number, sums: Address): void
  shortenDual(problem: Address, rows: number, factor: number): number
  hiddenLength(plan: Address): number
  generateRows(plan: Address, slot: Address, out: Address, rows: number, chunk: number, stream: number): number
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
