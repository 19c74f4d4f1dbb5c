// What processes that train together say to each other. Every rank makes the same calls in the same order; each call ends when
// all ranks have made it.

/** What crosses between ranks. */
export type Sent = Float64Array | Uint8Array

export interface Communicator {
  /** Which of the processes this is, from 0 on. Rank 0 prints and writes. */
  readonly rank: number
  readonly size: number
  /** Each element becomes the sum of all ranks' elements, the same bits everywhere. */
  sum(values: Float64Array): Promise<void>
  /** Each element becomes the largest of all ranks' elements. */
  max(values: Float64Array): Promise<void>
  /** Everybody gets what the root has. Lengths agree beforehand. */
  broadcast(values: Sent, root?: number): Promise<void>
  /** What each rank gave, in the order of ranks, at every rank. Lengths may differ. */
  gather(bytes: Uint8Array): Promise<Uint8Array[]>
  barrier(): Promise<void>
  /** Fails with the error of another rank once this one has learnt of it, which may be at work or wait for the others. It never
   *  ends otherwise, and is left out where errors are not told. */
  readonly failure?: Promise<never>
}

/** Waits for work, no longer than until another rank has failed. */
export async function unlessOthersFail<T>({ failure }: Communicator, work: Promise<T>): Promise<T> {
  return failure ? Promise.race([work, failure]) : work
}

/** One process that trains by itself: nothing is sent. */
export const alone: Communicator = {
  rank: 0,
  size: 1,
  async sum() {},
  async max() {},
  async broadcast() {},
  async gather(bytes) {
    return [bytes]
  },
  async barrier() {},
}
