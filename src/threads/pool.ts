// A pool of worker threads over one shared memory. A task's file and name and its options cross to a worker, nothing else,
// and a plain object comes back. Tasks are handed out in the order they were asked for.
import { cpus } from 'node:os'
import { Worker } from 'node:worker_threads'
import { SpillwayError } from '../errors.ts'
import type { NumericShare } from '../numeric/numeric.ts'
import type { DeclaredTask } from './task.ts'

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
  return Math.max(1, cpus().length)
}

export class ThreadPool {
  readonly size: number
  readonly #workers: Worker[] = []
  readonly #idle: Worker[] = []
  readonly #running = new Map<Worker, Job>()
  readonly #waiting: Job[] = []
  #closed = false

  constructor(share: NumericShare, size = defaultThreads()) {
    this.size = size
    // The same file extension as this module has: .ts from source, .js from the built package.
    const script = new URL(import.meta.url.replace(/pool\.(ts|js)$/, 'worker.$1'))
    for (let k = 0; k < size; k++) {
      // A small young generation keeps a worker's resident memory near what its isolate needs.
      const worker = new Worker(script, {
        workerData: share,
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: 2 },
      })
      worker.on('message', (answer: Answer) => this.#finish(worker, answer))
      worker.on('error', error => this.#fail(worker, error))
      worker.on('exit', code => {
        if (!this.#closed) this.#fail(worker, new Error(`a worker thread ended with code ${code}`))
      })
      worker.unref()
      this.#workers.push(worker)
      this.#idle.push(worker)
    }
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
    return this.#waiting.length + this.#running.size
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const job of this.#waiting.splice(0)) job.reject(new Error('the thread pool is closed'))
    await Promise.all(this.#workers.map(worker => worker.terminate()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #next(): void {
    while (this.#waiting.length > 0 && this.#idle.length > 0) {
      const worker = this.#idle.shift()!
      const job = this.#waiting.shift()!
      this.#running.set(worker, job)
      // While a task runs the process stays alive for it; an idle pool keeps nobody waiting.
      worker.ref()
      worker.postMessage({ module: job.module, name: job.name, options: job.options })
    }
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
