// A pool of worker threads over one shared memory. A task's file and name and its options cross to a worker, nothing else,
// and a plain object comes back. Tasks are handed out in the order they were asked for. The pool of a small work starts no
// worker: it runs tasks in its own thread, until they have taken longer than workers take to start.
import type { Worker } from 'node:worker_threads'
import { SpillwayError } from '../errors.ts'
import { usableCores } from '../machine-memory.ts'
import { Arena } from '../numeric/arena.ts'
import type { NumericShare } from '../numeric/numeric.ts'
import { type DeclaredTask, findTask, type TaskContext } from './task.ts'

interface Job {
  module: string
  name: string
  options: unknown
  resolve: (value: never) => void
  reject: (reason: unknown) => void
}

/** What a worker answers. */
export interface Answer {
  result?: unknown
  error?: { message: string; advice: string | undefined; exitCode: number | undefined; stack: string | undefined }
}

export function defaultThreads(): number {
  return usableCores()
}

/** Microseconds of computing that tasks may take in the pool's own thread: about what starting workers takes. */
const MOST_IN_PLACE = 50_000

export class ThreadPool {
  readonly size: number
  readonly #share: NumericShare
  readonly #workers: Worker[] = []
  readonly #idle: Worker[] = []
  readonly #running = new Map<Worker, Job>()
  readonly #waiting: Job[] = []
  /** There as long as tasks run in place. */
  #here: { context: TaskContext; microseconds: number; running: Job | undefined } | undefined
  #closed = false
  readonly #heapMegabytes: number | undefined

  /** `small`: the work is likely to be done before workers would have started. `heapMegabytes`: a worker whose objects take more
   *  ends, and its task fails. */
  constructor(
    share: NumericShare,
    size = defaultThreads(),
    { small = false, heapMegabytes }: { small?: boolean; heapMegabytes?: number } = {},
  ) {
    this.size = size
    this.#share = share
    this.#heapMegabytes = heapMegabytes
    if (small) {
      this.#here = { context: { arena: new Arena(share), kept: new Map() }, microseconds: 0, running: undefined }
    } else while (this.#workers.length < size) this.#idle.push(this.#start())
  }

  /** Runs a task on the next free thread. */
  run<Options, Result>({ module, name }: DeclaredTask<Options, Result>, options: Options): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Error('the thread pool is closed'))
      this.#waiting.push({ module, name, options, resolve: resolve as (value: never) => void, reject })
      this.#next()
    })
  }

  /** Tasks asked for and not yet answered. */
  get pending(): number {
    return this.#waiting.length + this.#running.size + (this.#here?.running ? 1 : 0)
  }

  /** Workers that were started. */
  get workers(): number {
    return this.#workers.length
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const job of this.#waiting.splice(0)) job.reject(new Error('the thread pool is closed'))
    await Promise.all(this.#workers.map(worker => worker.terminate()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #start(): Worker {
    // Beside this file: worker.ts among the sources, worker.js in dist/.
    const script = new URL(import.meta.url.replace(/[^/]+\.(ts|js)$/, 'worker.$1'))
    // Loaded late: a run without workers does without it.
    const { Worker } = process.getBuiltinModule('node:worker_threads')
    // A small young generation keeps a worker's resident memory near what its isolate needs.
    const worker = new Worker(script, {
      workerData: this.#share,
      execArgv: [],
      resourceLimits: {
        maxYoungGenerationSizeMb: 2,
        ...(this.#heapMegabytes !== undefined && { maxOldGenerationSizeMb: this.#heapMegabytes }),
      },
    })
    worker.on('message', (answer: Answer) => this.#finish(worker, answer))
    worker.on('error', error => this.#fail(worker, error))
    worker.on('exit', code => {
      if (!this.#closed) this.#fail(worker, new Error(`a worker thread ended with code ${code}`))
    })
    worker.unref()
    this.#workers.push(worker)
    return worker
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      if (this.#here) {
        if (!this.#here.running) this.#runHere(this.#waiting.shift()!)
        return
      }
      const worker = this.#idle.shift() ?? (this.#workers.length < this.size ? this.#start() : undefined)
      if (!worker) return
      const job = this.#waiting.shift()!
      this.#running.set(worker, job)
      // While a task runs the process stays alive for it; an idle pool keeps nobody waiting.
      worker.ref()
      worker.postMessage({ module: job.module, name: job.name, options: job.options })
    }
  }

  /** Runs a task in this thread. Options and result are copied, as on the way to a worker and back. */
  #runHere(job: Job): void {
    const here = this.#here!
    here.running = job
    // Between two tasks signals, timers and other work have their turn.
    setImmediate(async () => {
      const before = process.threadCpuUsage()
      try {
        const task = await findTask(job.module, job.name)
        const result = await task(here.context, structuredClone(job.options))
        if (this.#closed) throw new Error('the thread pool is closed')
        job.resolve(structuredClone(result) as never)
      } catch (error) {
        job.reject(error)
      }
      here.running = undefined
      const { user, system } = process.threadCpuUsage(before)
      here.microseconds += user + system
      if (here.microseconds > MOST_IN_PLACE) this.#here = undefined
      this.#next()
    })
  }

  #finish(worker: Worker, answer: Answer): void {
    const job = this.#running.get(worker)!
    this.#running.delete(worker)
    worker.unref()
    this.#idle.push(worker)
    if (answer.error) {
      const { message, advice, exitCode, stack } = answer.error
      const error = exitCode === undefined ? new Error(message) : new SpillwayError(message, advice, exitCode)
      if (exitCode === undefined && stack) error.stack = stack
      job.reject(error)
    } else job.resolve(answer.result as never)
    this.#next()
  }

  #fail(worker: Worker, error: unknown): void {
    this.#running.get(worker)?.reject(error)
    this.#running.delete(worker)
    for (const job of this.#waiting.splice(0)) job.reject(error)
  }
}
