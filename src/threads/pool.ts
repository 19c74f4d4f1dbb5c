// A pool of worker threads over one shared memory. A task's file and name and its options cross to a worker, nothing else,
// and a plain object comes back. Tasks are handed out in the order they were asked for. A pool may run tasks in its own thread
// as well: that of a small work until they have taken longer than workers take to start, others until a worker is there.
import type { Worker } from 'node:worker_threads'
import { SpillwayError } from '../errors.ts'
import { usableCores } from '../machine-memory.ts'
import { Arena } from '../numeric/arena.ts'
import type { NumericShare } from '../numeric/numeric.ts'
import { type DeclaredTask, findTask, READY, type TaskContext } from './task.ts'

interface Job {
  module: string
  name: string
  options: unknown
  resolve: (value: never) => void
  reject: (reason: unknown) => void
}

/** Tasks that run in the pool's own thread: what they keep, what they took so far, and the one that runs. */
interface Here {
  context: TaskContext
  microseconds: number
  running: Job | undefined
}

/** What a worker is given when it starts. */
export interface WorkerStart {
  share: NumericShare
  /** Where Node keeps compiled code for this process, if it does. */
  compileCache: string | undefined
}

/** What a worker answers. */
export interface Answer {
  result?: unknown
  error?: { message: string; advice: string | undefined; exitCode: number | undefined; stack: string | undefined }
}

export function defaultThreads(): number {
  return usableCores()
}

/** Microseconds of computing that tasks may take in the pool's own thread before workers are started: about what that takes. */
const MOST_IN_PLACE = 100_000

/** Whether tasks run in the pool's own thread: `small`, where the work is likely to be done before workers would have started, and
 *  none is; `until-ready`, while workers start; or `never`, for what they keep takes memory in every thread. */
export type InPlace = 'small' | 'until-ready' | 'never'

export class ThreadPool {
  readonly size: number
  readonly #share: NumericShare
  readonly #workers: Worker[] = []
  readonly #idle: Worker[] = []
  /** Workers that have not said yet that they are there. */
  readonly #starting = new Set<Worker>()
  readonly #running = new Map<Worker, Job>()
  readonly #waiting: Job[] = []
  /** Where tasks may run in place. */
  readonly #here: Here | undefined
  #closed = false
  readonly #heapMegabytes: number | undefined

  /** `heapMegabytes`: a worker whose objects take more ends, and its task fails. */
  constructor(
    share: NumericShare,
    size = defaultThreads(),
    { inPlace = 'never', heapMegabytes }: { inPlace?: InPlace; heapMegabytes?: number } = {},
  ) {
    this.size = size
    this.#share = share
    this.#heapMegabytes = heapMegabytes
    if (inPlace !== 'never') {
      this.#here = { context: { arena: new Arena(share), kept: new Map() }, microseconds: 0, running: undefined }
    }
    if (inPlace !== 'small') while (this.#workers.length < size) this.#start()
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

  #start(): void {
    // Beside this file: worker.ts among the sources, worker.js in dist/.
    const script = new URL(import.meta.url.replace(/[^/]+\.(ts|js)$/, 'worker.$1'))
    // Loaded late: a run without workers does without it.
    const { Worker } = process.getBuiltinModule('node:worker_threads')
    const compileCache = process.getBuiltinModule('node:module').getCompileCacheDir()
    const start: WorkerStart = { share: this.#share, compileCache }
    // A small young generation keeps a worker's resident memory near what its isolate needs.
    const worker = new Worker(script, {
      workerData: start,
      execArgv: [],
      resourceLimits: {
        maxYoungGenerationSizeMb: 2,
        ...(this.#heapMegabytes !== undefined && { maxOldGenerationSizeMb: this.#heapMegabytes }),
      },
    })
    worker.on('message', (answer: Answer | typeof READY) => {
      if (answer === READY) this.#welcome(worker)
      else this.#finish(worker, answer)
    })
    worker.on('error', error => this.#fail(worker, error))
    worker.on('exit', code => {
      if (!this.#closed) this.#fail(worker, new Error(`a worker thread ended with code ${code}`))
    })
    worker.unref()
    this.#workers.push(worker)
    this.#starting.add(worker)
    // Without a place of its own for tasks, the pool gives them to workers before they are there.
    if (!this.#here) this.#idle.push(worker)
  }

  /** A worker is there. */
  #welcome(worker: Worker): void {
    this.#starting.delete(worker)
    if (!this.#here) return
    this.#idle.push(worker)
    this.#next()
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#idle.shift()
      if (!worker) {
        if (this.#here) this.#helpOut(this.#here)
        return
      }
      const job = this.#waiting.shift()!
      this.#running.set(worker, job)
      // While a task runs the process stays alive for it; an idle pool keeps nobody waiting.
      worker.ref()
      worker.postMessage({ module: job.module, name: job.name, options: job.options })
    }
  }

  /** No worker is free. Where some are not there yet, this thread does what it can. */
  #helpOut(here: Here): void {
    if (here.microseconds > MOST_IN_PLACE) {
      while (this.#workers.length < this.size && this.#starting.size < this.#waiting.length) this.#start()
    }
    const allThere = this.#workers.length > 0 && this.#starting.size === 0
    if (!here.running && !allThere) this.#runHere(here, this.#waiting.shift()!)
  }

  /** Runs a task in this thread. Options and result are copied, as on the way to a worker and back. */
  #runHere(here: Here, job: Job): void {
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
