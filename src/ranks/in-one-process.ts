// Ranks that share a process: each is a function that runs beside the others. Arrays cross by copy, and sums are made in the
// order of ranks.
import type { Communicator, Sent } from './communicator.ts'

/** Communicators of so many ranks. One that fails must call `leave`, or the others wait for it for ever. */
export function ranksInOneProcess(size: number): (Communicator & { leave(reason: Error): void })[] {
  const meeting = new Meeting(size)
  return Array.from({ length: size }, (_, rank) => ({
    rank,
    size,
    sum: (values: Float64Array) =>
      meeting.meet(rank, 'sum', values, all => reduce(all, (a, b) => a + b)).then(total => values.set(total)),
    max: (values: Float64Array) =>
      meeting.meet(rank, 'max', values, all => reduce(all, Math.max)).then(most => values.set(most)),
    broadcast: (values: Sent, root = 0) =>
      meeting.meet(rank, `broadcast ${root}`, values, all => all[root].slice()).then(given => values.set(given)),
    gather: (bytes: Uint8Array) => meeting.meet(rank, 'gather', bytes, all => all.map(one => one.slice())),
    barrier: () => meeting.meet(rank, 'barrier', undefined, () => undefined),
    leave: (reason: Error) => meeting.leave(reason),
    failure: meeting.failure,
  }))
}

function reduce(all: Float64Array[], of: (a: number, b: number) => number): Float64Array {
  const [first, ...others] = all
  const result = first.slice()
  for (const other of others) {
    if (other.length !== result.length) throw new Error(`ranks sent ${result.length} and ${other.length} elements`)
    for (let k = 0; k < result.length; k++) result[k] = of(result[k], other[k])
  }
  return result
}

/** A place where all ranks come with something, and leave with the same result. */
class Meeting {
  readonly #size: number
  #what = ''
  #came = 0
  #given: unknown[] = []
  #end = Promise.withResolvers<unknown>()
  #left: Error | undefined
  readonly #failure = Promise.withResolvers<never>()

  constructor(size: number) {
    this.#size = size
    // Whether anybody waits for it or not.
    this.failure.catch(() => {})
  }

  get failure(): Promise<never> {
    return this.#failure.promise
  }

  meet<T, R>(rank: number, what: string, given: T, make: (all: T[]) => R): Promise<R> {
    if (this.#left) return Promise.reject(this.#left)
    if (this.#came > 0 && what !== this.#what) {
      this.leave(new Error(`rank ${rank} came to ${what} while others came to ${this.#what}`))
      return Promise.reject(this.#left)
    }
    const end = this.#end as PromiseWithResolvers<R>
    this.#what = what
    this.#given[rank] = given
    this.#came++
    if (this.#came === this.#size) {
      const all = this.#given as T[]
      this.#given = []
      this.#came = 0
      this.#end = Promise.withResolvers()
      try {
        end.resolve(make(all))
      } catch (error) {
        end.reject(error)
      }
    }
    return end.promise
  }

  leave(reason: Error): void {
    this.#left ??= reason
    this.#end.promise.catch(() => {})
    this.#end.reject(this.#left)
    this.#failure.reject(this.#left)
  }
}
