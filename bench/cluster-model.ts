// How long training over ranks takes, by calculation: rates that were measured on one rank, and a network that is given.
//
//   time(P) = start + read(P) + passes · (sweep(P) + vectors · sum(n, P))
//
//   read(P)    bytes of text / P, by what is slower: the disk or parsing
//   sweep(P)   (nonzeros / P · seconds a nonzero + weights · seconds a weight) · what the slowest of P ranks takes more than the mean
//   sum(n, P)  an AllReduce of n numbers of 8 bytes: each rank sends 2 · (P − 1) / P · 8 n bytes, in calls of at most 4 MiB, and a
//              call has 2 (P − 1) steps by a ring, 2 log2 P by halving (Rabenseifner). Halving takes a power of two: of other
//              numbers, some ranks send 1.5 · 8 n bytes more, as Open MPI does it (counted on three ranks and on four)
//
// Threads that share a machine share its cores: t threads on c cores do the work of min(t, c), and when all cores are at work each
// is slower than one alone, by a factor that is measured. Pure functions: nothing is measured here.

/** What one rank on one core does, measured. */
export interface Rates {
  /** Seconds from the start of the launcher to the first byte, and from the model to the end. */
  startSeconds: number
  /** What a start takes longer where there are several ranks, which load MPI and find each other. */
  joinSeconds: number
  /** Bytes of text that a core turns into rows in a second. */
  parseBytesPerSecond: number
  /** Of a pass: what is shared out among ranks, and what each does for all weights. */
  secondsPerNonzero: number
  secondsPerWeight: number
  /** How much longer the same pass, and the same reading, take a core while all others of its machine do such work, too: they
   *  share the memory. */
  contention: number
  readContention: number
  /** Standard deviation of the time of a pass, as a share of it. */
  jitter: number
}

export interface Network {
  /** Seconds that a message of no length takes. */
  latency: number
  /** Bytes a second that one rank can send while all others do. */
  bandwidth: number
  /** Seconds to add two numbers of 8 bytes that came with a message and those that are there. */
  secondsPerNumber?: number
}

export interface Nodes {
  count: number
  cores: number
  ranksPerNode: number
  threadsPerRank: number
  /** Bytes a second that the disk of a node, or its share of a common one, gives. Endless where the text is in memory. */
  diskBytesPerSecond: number
}

export interface Work {
  rows: number
  nonzeros: number
  textBytes: number
  /** Weights of a model, the bias among them. */
  weights: number
  passes: number
  /** Vectors of as many numbers as there are weights that are summed in a pass. */
  vectorsPerPass: number
  /** Bytes of memory for each weight: the vectors of the method. */
  bytesPerWeight: number
}

export type Algorithm = 'ring' | 'halving'

export interface Prediction {
  ranks: number
  start: number
  read: number
  sweeps: number
  sums: number
  total: number
  /** Bytes that each rank sends in a pass. */
  sentPerPass: number
  /** Rows of a rank as they are in memory, and whether they and its vectors fit into the 4 GiB that a process has for them. */
  rowBytes: number
  fits: boolean
}

/** Bytes of a call at most: longer vectors take several. */
const CALL_BYTES = 4 * 2 ** 20
const NUMBER_BYTES = 8
/** By halving, where ranks are no power of two: what some of them send besides, and the steps that takes. */
const MORE_VECTORS = 1.5
const MORE_STEPS = 3
/** What a process has for rows, weights and vectors. */
const WINDOW_BYTES = 4 * 2 ** 30
/** Of a nonzero and of a row, in memory. */
const NONZERO_BYTES = 8
const ROW_BYTES = 24

/** Seconds of a sum of so many numbers over ranks. */
export function sumSeconds(numbers: number, ranks: number, network: Network, algorithm: Algorithm): number {
  if (ranks === 1) return 0
  const calls = Math.ceil((numbers * NUMBER_BYTES) / CALL_BYTES)
  const adding = ((ranks - 1) / ranks) * numbers * (network.secondsPerNumber ?? 0)
  const sending = bytesSent(numbers, ranks, algorithm) / network.bandwidth
  return calls * stepsOf(ranks, algorithm) * network.latency + sending + adding
}

/** Bytes that a rank sends for a sum, the busiest one: each number goes out once to be added, and once as a sum, but for a rank's
 *  own share. */
export function bytesSent(numbers: number, ranks: number, algorithm: Algorithm): number {
  const halved = 2 ** Math.floor(Math.log2(ranks))
  const [among, more] = algorithm === 'ring' || halved === ranks ? [ranks, 0] : [halved, MORE_VECTORS]
  return ((2 * (among - 1)) / among + more) * numbers * NUMBER_BYTES
}

/** Messages that follow upon each other in a call. */
function stepsOf(ranks: number, algorithm: Algorithm): number {
  if (algorithm === 'ring') return 2 * (ranks - 1)
  const halvings = Math.floor(Math.log2(ranks))
  return 2 * halvings + (2 ** halvings === ranks ? 0 : MORE_STEPS)
}

/** How much longer than the mean the slowest of so many ranks takes, for times that are spread like a normal distribution. */
export function slowest(ranks: number, jitter: number): number {
  return 1 + jitter * expectedLargest(ranks)
}

/** The mean of the largest of so many numbers of a normal distribution: ∫ 1 − Φ(x)^P over x > 0, less ∫ Φ(x)^P over x < 0. */
export function expectedLargest(count: number): number {
  const [most, step] = [8, 1e-3]
  let sum = 0
  for (let x = step / 2; x < most; x += step) sum += 1 - normalShare(x) ** count - normalShare(-x) ** count
  return sum * step
}

/** Φ(x), to 7 digits: Abramowitz and Stegun, 26.2.17. */
export function normalShare(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x))
  const tail =
    (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) *
    t *
    (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  return x >= 0 ? 1 - tail : tail
}

/** How many times as long a thread takes for its work because of the other threads that are at work on its machine. */
export function sharedCores(threads: number, cores: number, contention: number): number {
  // With fewer threads than cores, the cost of sharing the memory grows evenly.
  const crowd = cores > 1 ? 1 + ((contention - 1) * (Math.min(threads, cores) - 1)) / (cores - 1) : 1
  return crowd * Math.max(1, threads / cores)
}

export function predict(
  work: Work,
  rates: Rates,
  nodes: Nodes,
  network: Network,
  algorithm: Algorithm = 'ring',
): Prediction {
  const ranks = nodes.count * nodes.ranksPerNode
  const { cores, ranksPerNode, threadsPerRank } = nodes
  const threads = ranksPerNode * threadsPerRank
  const shared = sharedCores(threads, cores, rates.contention)
  // How much longer a rank takes than one thread alone.
  const slower = shared / threadsPerRank
  const readsSlower = sharedCores(threads, cores, rates.readContention) / threadsPerRank
  const bytes = work.textBytes / ranks
  const parsing = (bytes / rates.parseBytesPerSecond) * readsSlower
  const fromDisk = (bytes * ranksPerNode) / nodes.diskBytesPerSecond
  const alone = (work.nonzeros / ranks) * rates.secondsPerNonzero + work.weights * rates.secondsPerWeight
  const sweep = alone * slower * slowest(ranks, rates.jitter)
  // Ranks of a node share its network. Where ranks share cores, a step of a sum waits for all of them to have their turn.
  const link = {
    latency: network.latency * Math.max(1, ranksPerNode / cores),
    bandwidth: network.bandwidth / (nodes.count > 1 ? ranksPerNode : 1),
    secondsPerNumber: (network.secondsPerNumber ?? 0) * shared,
  }
  const sum = work.vectorsPerPass * sumSeconds(work.weights, ranks, link, algorithm)
  const starting = rates.startSeconds + (ranks > 1 ? rates.joinSeconds : 0)
  const start = starting * Math.max(1, ranksPerNode / cores)
  const read = Math.max(parsing, fromDisk)
  const [sweeps, sums] = [work.passes * sweep, work.passes * sum]
  const rowBytes = (NONZERO_BYTES * work.nonzeros + ROW_BYTES * work.rows) / ranks
  return {
    ...{ ranks, start, read, sweeps, sums, total: start + read + sweeps + sums },
    sentPerPass: work.vectorsPerPass * bytesSent(work.weights, ranks, algorithm),
    ...{ rowBytes, fits: rowBytes + work.bytesPerWeight * work.weights <= WINDOW_BYTES },
  }
}

/** A pass over some of the data. */
export interface TimedPass {
  seconds: number
  nonzeros: number
  weights: number
}

/** Seconds for each nonzero and for each weight that explain a pass over all data and one over a part of it. Neither is negative. */
export function passRates(all: TimedPass, part: TimedPass): Pick<Rates, 'secondsPerNonzero' | 'secondsPerWeight'> {
  const ofNonzeros = { secondsPerNonzero: all.seconds / all.nonzeros, secondsPerWeight: 0 }
  const determinant = all.nonzeros * part.weights - part.nonzeros * all.weights
  // Where a part has as many weights for its nonzeros as all have, nothing tells the two apart.
  if (determinant <= 0.1 * all.nonzeros * part.weights) return ofNonzeros
  const secondsPerNonzero = (all.seconds * part.weights - part.seconds * all.weights) / determinant
  const secondsPerWeight = (all.nonzeros * part.seconds - part.nonzeros * all.seconds) / determinant
  if (secondsPerWeight < 0) return ofNonzeros
  if (secondsPerNonzero < 0) return { secondsPerNonzero: 0, secondsPerWeight: all.seconds / all.weights }
  return { secondsPerNonzero, secondsPerWeight }
}

/** Latency and bandwidth that explain two sums that were timed, a short one and a long one, on so many ranks. */
export function networkFrom(
  short: { numbers: number; seconds: number },
  long: { numbers: number; seconds: number },
  ranks: number,
  algorithm: Algorithm,
): Network {
  const steps = (numbers: number): number =>
    sumSeconds(numbers, ranks, { latency: 1, bandwidth: Number.POSITIVE_INFINITY }, algorithm)
  const latency = short.seconds / steps(short.numbers)
  const left = Math.max(long.seconds - latency * steps(long.numbers), 0.01 * long.seconds)
  return { latency, bandwidth: bytesSent(long.numbers, ranks, algorithm) / left }
}

/** The mean and, as a share of it, the standard deviation. */
export function spreadOf(values: number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  if (values.length < 2) return { mean, deviation: 0 }
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return { mean, deviation: Math.sqrt(squares / (values.length - 1)) / mean }
}
