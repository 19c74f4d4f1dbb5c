// Ranks under MPI: a communicator whose calls are those of the launcher's own library, made through koffi. A call runs in a
// thread of its own, so that the event loop turns meanwhile. Calls are made one after the other, in the order in which they
// were asked for: it is the same at every rank.
import { SpillwayError } from '../errors.ts'
import type { Communicator, Sent } from './communicator.ts'
import { failureOf, NOTICE_BYTES, type RankFailure } from './failure.ts'
import type { MpiHandles, MpiKind } from './mpi-library.ts'

type Koffi = typeof import('koffi').default
type Library = ReturnType<Koffi['load']>
type MpiFunction = ReturnType<Library['func']>

/** Bytes of a call at most: counts are of 32 bits, libraries make copies of what they reduce, and what stays in the caches is
 *  summed several times faster than what does not. */
const CALL_BYTES = 4 << 20
/** Bytes that all ranks give together to a call that gathers: places in its result are of 32 bits, too. */
const GATHERED_BYTES = 1 << 30
/** Levels of MPI_Init_thread: calls from one thread at a time, and from any number. */
const THREAD_SERIALIZED = 2
const THREAD_MULTIPLE = 3
/** Milliseconds between two looks for a notice of a rank that has failed. */
const LOOK_EVERY = 500
/** Milliseconds for a rank that has heard of an error to meet the same one: it tells of its own then. */
const OWN_TURN = 1500
/** What tells a notice from other messages, and room for what libraries say of a message: 20 and 24 bytes. */
const NOTICE_TAG = 1
const STATUS_BYTES = 64

/** A library of MPI that is loaded and not yet started. */
export interface LoadedMpi {
  kind: MpiKind
  file: string
  koffi: Koffi
  library: Library
}

/** Starts MPI. The ranks of the job all have to do so. */
export function startMpi(loaded: LoadedMpi, callBytes = CALL_BYTES): MpiCommunicator {
  for (const [name, value] of Object.entries(loaded.kind.environment)) process.env[name] ??= value
  return new MpiCommunicator(loaded, callBytes)
}

export class MpiCommunicator implements Communicator {
  readonly rank: number
  readonly size: number
  readonly failure: Promise<never>
  readonly #functions: Record<
    'reduce' | 'broadcast' | 'gather' | 'barrier' | 'send' | 'probe' | 'receive' | 'finalize' | 'abort',
    MpiFunction
  >
  readonly #handles: MpiHandles
  readonly #inPlace: bigint
  readonly #anySource: number
  readonly #callBytes: number
  /** Whether calls may be made beside one that is under way. */
  readonly #beside: boolean
  /** The last call that was asked for. */
  #last: Promise<unknown> = Promise.resolve()
  /** What the present call works on: memory that must not be collected until it is over. */
  readonly #held = new Set<unknown[]>()
  /** Calls so far, and as many as there were at the last look for a notice. */
  #calls = 0
  #callsAtLook = 0
  #ended = false

  constructor({ kind, library }: LoadedMpi, callBytes: number) {
    const { handleType: handle } = kind
    this.#handles = kind.handles(name => library.symbol(name))
    this.#inPlace = kind.inPlace
    this.#anySource = kind.anySource
    this.#callBytes = callBytes
    this.#functions = {
      reduce: library.func(
        `int MPI_Allreduce(void *from, void *to, int count, ${handle} type, ${handle} op, ${handle} comm)`,
      ),
      broadcast: library.func(`int MPI_Bcast(void *values, int count, ${handle} type, int root, ${handle} comm)`),
      gather: library.func(
        `int MPI_Allgatherv(void *from, int count, ${handle} type, void *to, void *counts, void *places, ${handle} toType, ${handle} comm)`,
      ),
      barrier: library.func(`int MPI_Barrier(${handle} comm)`),
      send: library.func(`int MPI_Send(void *from, int count, ${handle} type, int rank, int tag, ${handle} comm)`),
      probe: library.func(`int MPI_Iprobe(int rank, int tag, ${handle} comm, _Out_ int *found, void *status)`),
      receive: library.func(
        `int MPI_Recv(void *to, int count, ${handle} type, int rank, int tag, ${handle} comm, void *status)`,
      ),
      finalize: library.func('int MPI_Finalize()'),
      abort: library.func(`int MPI_Abort(${handle} comm, int code)`),
    }
    const provided = [0]
    library.func('int MPI_Init_thread(void *argc, void *argv, int required, _Out_ int *provided)')(
      null,
      null,
      THREAD_MULTIPLE,
      provided,
    )
    this.rank = numberOf(library.func(`int MPI_Comm_rank(${handle} comm, _Out_ int *rank)`), this.#handles.world)
    this.size = numberOf(library.func(`int MPI_Comm_size(${handle} comm, _Out_ int *size)`), this.#handles.world)
    this.#beside = provided[0] >= THREAD_MULTIPLE
    const { promise, reject } = Promise.withResolvers<never>()
    this.failure = promise
    // Whether anybody waits for it or not.
    promise.catch(() => {})
    if (provided[0] < THREAD_SERIALIZED) {
      this.end()
      throw new SpillwayError(
        `this ${kind.title} can only be called from one thread, and calls are made beside the event loop`,
        `install one that was built with threads: ${kind.install}`,
      )
    }
    if (this.rank === 0) this.#listen(reject)
  }

  async sum(values: Float64Array): Promise<void> {
    await this.#reduce(values, this.#handles.sum)
  }

  async max(values: Float64Array): Promise<void> {
    // The largest of numbers of which one is none depends on the order in which they are compared.
    if (values.some(Number.isNaN)) throw new Error('a value that is no number has no largest')
    await this.#reduce(values, this.#handles.max)
  }

  async broadcast(values: Sent, root = 0): Promise<void> {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
    const { byte, world } = this.#handles
    await this.#inTurn(async () => {
      for (const part of parts(bytes, this.#callBytes))
        await this.#call(this.#functions.broadcast, part, part.length, byte, root, world)
    })
  }

  async gather(bytes: Uint8Array): Promise<Uint8Array[]> {
    const lengths = new Float64Array(this.size)
    lengths[this.rank] = bytes.length
    await this.#reduce(lengths, this.#handles.sum)
    const result = Array.from(lengths, length => new Uint8Array(length))
    const most = Math.floor(Math.min(this.#callBytes, GATHERED_BYTES / this.size))
    const { byte, world } = this.#handles
    await this.#inTurn(async () => {
      for (let done = 0; done < Math.max(...lengths); done += most) {
        const counts = Uint32Array.from(lengths, length => Math.min(most, Math.max(0, length - done)))
        const places = new Uint32Array(this.size)
        for (let rank = 1; rank < this.size; rank++) places[rank] = places[rank - 1] + counts[rank - 1]
        const given = bytes.slice(done, done + most)
        const all = new Uint8Array(places[this.size - 1] + counts[this.size - 1])
        const sent = [given, given.length, byte, all, counts, places, byte, world]
        await this.#call(this.#functions.gather, ...sent)
        for (const [rank, count] of counts.entries())
          if (count > 0) result[rank].set(all.subarray(places[rank], places[rank] + count), done)
      }
    })
    return result
  }

  async barrier(): Promise<void> {
    await this.#inTurn(() => this.#call(this.#functions.barrier, this.#handles.world))
  }

  /** Tells rank 0 that this one has failed; false where that cannot be told. It is not waited for. */
  tellFailure(notice: Uint8Array): boolean {
    if (this.#ended || (this.#held.size > 0 && !this.#beside)) return false
    const { byte, world } = this.#handles
    // Of one length, so that nobody has to ask how long it is. JSON may have blanks behind it.
    const sent = new Uint8Array(NOTICE_BYTES).fill(0x20)
    sent.set(notice)
    this.#call(this.#functions.send, sent, sent.length, byte, 0, NOTICE_TAG, world).catch(() => {})
    return true
  }

  /** Looks for notices now and then. */
  #listen(hear: (failure: RankFailure) => void): void {
    const timer = setInterval(() => {
      const failure = this.#ended ? undefined : this.#look()
      if (failure) setTimeout(hear, OWN_TURN, failure).unref()
      if (failure || this.#ended) clearInterval(timer)
    }, LOOK_EVERY)
    timer.unref()
  }

  /** Beside a call that is under way it looks only if the same one was so the last time: this rank waits for others then. */
  #look(): RankFailure | undefined {
    const isBusy = this.#held.size > 0
    const isStuck = isBusy && this.#beside && this.#calls === this.#callsAtLook
    this.#callsAtLook = this.#calls
    if (isBusy && !isStuck) return undefined
    const { byte, world } = this.#handles
    const found = [0]
    const status = new Uint8Array(STATUS_BYTES)
    this.#functions.probe(this.#anySource, NOTICE_TAG, world, found, status)
    if (found[0] === 0) return undefined
    const notice = new Uint8Array(NOTICE_BYTES)
    this.#functions.receive(notice, notice.length, byte, this.#anySource, NOTICE_TAG, world, status)
    return failureOf(notice)
  }

  /** Ends MPI, when all is said. The thread is the one that started it. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#functions.finalize()
  }

  /** Ends the whole job at once: every rank, whatever it is at. A process that just left would be waited for. */
  abort(exitCode: number): void {
    if (this.#ended) return
    this.#ended = true
    this.#functions.abort(this.#handles.world, exitCode)
  }

  async #reduce(values: Float64Array, operation: bigint | number): Promise<void> {
    const { double, world } = this.#handles
    await this.#inTurn(async () => {
      for (const part of parts(values, Math.ceil(this.#callBytes / 8)))
        await this.#call(this.#functions.reduce, this.#inPlace, part, part.length, double, operation, world)
    })
  }

  /** Has something done when all that was asked for before is done. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }

  async #call(of: MpiFunction, ...given: unknown[]): Promise<void> {
    this.#held.add(given)
    this.#calls++
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    of.async(...given, (error: Error | null, code: number) => {
      this.#held.delete(given)
      if (error) reject(error)
      else if (code === 0) resolve()
      else reject(new Error(`${of.info.name} failed with code ${code}`))
    })
    await promise
  }
}

function numberOf(of: MpiFunction, world: bigint | number): number {
  const found = [0]
  of(world, found)
  return found[0]
}

function* parts<T extends Float64Array | Uint8Array>(values: T, length: number): Generator<T> {
  for (let at = 0; at < values.length; at += length) yield values.subarray(at, at + length) as T
}
