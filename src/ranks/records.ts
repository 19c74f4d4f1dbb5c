// What ranks tell each other often: plain records, a few numbers, and vectors in an arena.
import type { Arena } from '../numeric/arena.ts'
import type { Address } from '../sizes.ts'
import type { Communicator } from './communicator.ts'

/** What each rank says, in the order of ranks: plain data that JSON can hold. */
export async function gatherRecords<T>(ranks: Communicator, own: T): Promise<T[]> {
  if (ranks.size === 1) return [own]
  const all = await ranks.gather(new TextEncoder().encode(JSON.stringify(own)))
  return all.map(bytes => JSON.parse(new TextDecoder().decode(bytes)))
}

/** What each rank has, one behind the other in the order of ranks. */
export async function gatherBytes(ranks: Communicator, own: Uint8Array): Promise<Uint8Array> {
  if (ranks.size === 1) return own
  const parts = await ranks.gather(own)
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let filled = 0
  for (const part of parts) {
    all.set(part, filled)
    filled += part.length
  }
  return all
}

/** Sums of all ranks' numbers; the largest of them. */
export async function sumNumbers(ranks: Communicator, own: readonly number[]): Promise<number[]> {
  const values = Float64Array.from(own)
  await ranks.sum(values)
  return [...values]
}

export async function maxNumbers(ranks: Communicator, own: readonly number[]): Promise<number[]> {
  const values = Float64Array.from(own)
  await ranks.max(values)
  return [...values]
}

/** Whether something is so on any rank. */
export async function onAnyRank(ranks: Communicator, here: boolean): Promise<boolean> {
  if (ranks.size === 1) return here
  const [most] = await maxNumbers(ranks, [here ? 1 : 0])
  return most > 0
}

/** Numbers of f64 that stand together in an arena. */
export interface Vector {
  at: Address
  count: number
}

/** Vectors become the sums of all ranks', and numbers that stand elsewhere with them: one message, whatever their number. */
export async function sumVectors(
  ranks: Communicator,
  arena: Arena,
  vectors: readonly Vector[],
  numbers: readonly Float64Array[] = [],
): Promise<void> {
  if (ranks.size === 1) return
  // A copy: what is sent must stay where it is while the arena grows.
  const parts = [...vectors.map(({ at, count }) => arena.f64(at, count)), ...numbers]
  const sent = new Float64Array(parts.reduce((length, part) => length + part.length, 0))
  let filled = 0
  for (const part of parts) {
    sent.set(part, filled)
    filled += part.length
  }
  await ranks.sum(sent)
  filled = 0
  for (const part of parts) {
    part.set(sent.subarray(filled, filled + part.length))
    filled += part.length
  }
}
