// The runs of a folder: one at work, the others in a queue. What is known of each is in its folder, so that a studio that is killed
// leaves runs that the next one knows, follows while their processes are at work, and can resume.
import { stat } from 'node:fs/promises'
import { isAtWork } from '../files/processes.ts'
import { RequestError } from '../serve/request-error.ts'
import { refuseLinks, type StudioFolder } from './folder.ts'
import { accountOf, lastProgress, RecordReader, RunAccount } from './records.ts'
import { type KeptRun, newId, type Run, RunFolder, readRuns } from './run-folder.ts'
import { checkedOptions, commandOf } from './run-options.ts'
import {
  type Ending,
  followProcess,
  outcomeOf,
  type RunningProcess,
  startProcess,
  unknownProcess,
} from './run-process.ts'

/** What listeners hear: a run that has changed, records that have come, a run that is no more. */
export type RunEvent = { kind: 'run'; run: Run } | { kind: 'records'; id: string } | { kind: 'removed'; id: string }

const MOST_RUNS = 1000
const MOST_NAME = 200
/** How often records are looked for. */
const FOLLOW_MILLISECONDS = 200
/** A run that was told to end is told again after so long, which ends it at once; and then is ended by the system. */
const AGAIN_MILLISECONDS = 30_000
const KILL_MILLISECONDS = 10_000

interface Entry {
  run: KeptRun
  folder: RunFolder
  account: RunAccount
  /** Saves of one run follow each other. */
  saved: Promise<void>
}

interface Active {
  entry: Entry
  process: RunningProcess
  timers: NodeJS.Timeout[]
  /** Until its end is written down. */
  over: Promise<void>
}

export interface RunsOptions {
  /** Node and the file of the program. */
  program: readonly string[]
  /** What the owner of the studio should know. */
  say?: ((text: string) => void) | undefined
}

export class Runs {
  readonly #folder: StudioFolder
  readonly #path: string
  readonly #options: RunsOptions
  readonly #entries = new Map<string, Entry>()
  readonly #listeners = new Set<(event: RunEvent) => void>()
  readonly #queue: Entry[] = []
  #active: Active | undefined
  /** The run whose process is just being started. */
  #starting: Entry | undefined
  #closing = false

  private constructor(folder: StudioFolder, path: string, options: RunsOptions) {
    this.#folder = folder
    this.#path = path
    this.#options = options
  }

  /** Reads the runs that the folder has. */
  static async open(folder: StudioFolder, options: RunsOptions): Promise<Runs> {
    const runs = new Runs(folder, await folder.runsFolder(), options)
    for (const run of await readRuns(runs.#path)) await runs.#recover(run)
    return runs
  }

  async #recover(run: KeptRun): Promise<void> {
    const entry = this.#enter(run)
    const records = entry.folder.file('records')
    const known = isActive(run) ? (run.process ?? unknownProcess(entry.folder)) : undefined
    if (known && isAtWork(known) && !this.#active) {
      this.#options.say?.(`the run ${run.name} is still at work, and is followed`)
      Object.assign(run, { state: run.state === 'stopping' ? 'stopping' : 'running', process: known })
      return this.#follow(entry, followProcess(known))
    }
    if (run.state === 'running' || run.state === 'stopping') {
      entry.account = await accountOf(records)
      await this.#settle(entry, {})
      this.#options.say?.(`the run ${run.name} has ended meanwhile: ${entry.run.state}`)
      return
    }
    // Nobody expects work to begin because a page is opened.
    if (run.state === 'queued') {
      run.state = 'stopped'
      await this.#save(entry)
    }
    entry.account.last = await lastProgress(records)
  }

  #enter(run: KeptRun): Entry {
    const folder = new RunFolder(this.#path, run.id)
    const entry = { run, folder, account: new RunAccount(), saved: Promise.resolve() }
    this.#entries.set(run.id, entry)
    return entry
  }

  listen(listener: (event: RunEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(event: RunEvent): void {
    for (const listener of [...this.#listeners]) listener(event)
  }

  /** In the order in which they were asked for. */
  list(): Run[] {
    return [...this.#entries.values()].map(entry => shown(entry))
  }

  get(id: string): Run {
    return shown(this.#entry(id))
  }

  folderOf(id: string): RunFolder {
    return this.#entry(id).folder
  }

  /** Lines of records of earlier starts, which are gone. */
  recordsBefore(id: string): number {
    return this.#entry(id).run.recordsBefore
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id)
    if (!entry) throw new RequestError(404, 'there is no such run')
    return entry
  }

  /** Real paths of the data of a run, and of the data to test on. */
  async paths(run: Pick<Run, 'data' | 'options'>): Promise<{ data: string; test: string | undefined }> {
    const data = await this.#folder.resolve(run.data)
    return { data, test: run.options.test === undefined ? undefined : await this.#folder.resolve(run.options.test) }
  }

  /** The same for a run that is to begin, which writes into a store. */
  async #checkedPaths(run: Pick<Run, 'data' | 'options'>): ReturnType<Runs['paths']> {
    const paths = await this.paths(run)
    if ((await stat(paths.data)).isDirectory()) await refuseLinks(paths.data, run.data)
    return paths
  }

  /** Puts a run into the queue. */
  async add(given: { data?: unknown; options?: unknown; name?: unknown }): Promise<Run> {
    const options = checkedOptions(given.options)
    const data = given.data as string
    await this.#checkedPaths({ data, options })
    if (this.#closing) throw new RequestError(503, 'the studio is about to end')
    if (this.#entries.size >= MOST_RUNS) throw new RequestError(409, `there are ${MOST_RUNS} runs: remove some first`)
    const name = nameOf(given.name) ?? `${data}${options.loss ? `, ${options.loss}` : ''}, C = ${options.cost ?? 1}`
    const entry = this.#enter({
      ...{ id: newId(), name: name.slice(0, MOST_NAME), data, options, command: commandOf(data, options) },
      ...{ state: 'queued', queuedAt: new Date().toISOString(), hasCheckpoint: false, recordsBefore: 0 },
    })
    try {
      await entry.folder.create()
      await this.#save(entry)
    } catch (error) {
      this.#entries.delete(entry.run.id)
      throw error
    }
    this.#enqueue(entry)
    return shown(entry)
  }

  #enqueue(entry: Entry): void {
    this.#queue.push(entry)
    this.#changed(entry)
    void this.#next()
  }

  /** Begins the next run of the queue when none is at work. */
  async #next(): Promise<void> {
    if (this.#active || this.#starting || this.#closing) return
    const entry = this.#queue.shift()
    if (!entry) return
    this.#starting = entry
    try {
      await this.#begin(entry)
    } catch (error) {
      Object.assign(entry.run, { state: 'failed', endedAt: new Date().toISOString(), error: (error as Error).message })
      await this.#save(entry).catch(() => {})
      this.#changed(entry)
    } finally {
      this.#starting = undefined
    }
    if (!this.#active) void this.#next()
  }

  async #begin(entry: Entry): Promise<void> {
    const { run, folder } = entry
    const paths = await this.#checkedPaths(run)
    const resume = run.hasCheckpoint
    // What is begun again replaces its records; the numbers of lines go on.
    if (!resume) run.recordsBefore += (await accountOf(folder.file('records'))).lines
    await folder.clear(resume)
    await folder.requireNoLinks()
    const { program } = this.#options
    const process = await startProcess({ program, run, folder, ...paths, resume })
    const { endedAt: _, error: _error, advice: _advice, result: _result, ...rest } = run
    entry.run = { ...rest, state: 'running', beganAt: new Date().toISOString(), process: process.known }
    this.#follow(entry, process)
    await this.#save(entry)
    this.#changed(entry)
  }

  /** Watches a process and its records until its end. */
  #follow(entry: Entry, process: RunningProcess): void {
    const { run, folder } = entry
    entry.account = new RunAccount()
    const reader = new RecordReader(folder.file('records'), run.recordsBefore)
    let reading: Promise<void> | undefined
    const look = async (): Promise<void> => {
      let seen = 0
      for await (const lines of reader.read()) {
        for (const { text } of lines) entry.account.add(text)
        seen += lines.length
      }
      if (seen === 0) return
      this.#tell({ kind: 'records', id: run.id })
      this.#changed(entry)
      if (!entry.account.overBlocks || entry.run.hasCheckpoint) return
      entry.run.hasCheckpoint = true
      await this.#save(entry)
    }
    const lookOnce = (): Promise<void> => {
      reading ??= look()
        .catch(() => {})
        .finally(() => {
          reading = undefined
        })
      return reading
    }
    const timer = setInterval(lookOnce, FOLLOW_MILLISECONDS)
    const over = process.ended.then(async ending => {
      for (const each of this.#active!.timers) clearTimeout(each)
      await reading
      await lookOnce()
      await this.#settle(entry, ending).catch((error: Error) => this.#options.say?.(error.message))
      this.#active = undefined
      this.#changed(entry)
      void this.#next()
    })
    this.#active = { entry, process, timers: [timer], over }
  }

  /** Writes down how a run ended. */
  async #settle(entry: Entry, ending: Ending): Promise<void> {
    const { run, folder, account } = entry
    const outcome = await outcomeOf(folder, ending, run.state === 'stopping')
    const { process: _, error: _error, ...rest } = run
    const hasCheckpoint = outcome.state !== 'done' && (run.hasCheckpoint || account.overBlocks)
    entry.run = { ...rest, ...outcome, hasCheckpoint, endedAt: new Date().toISOString() }
    await this.#save(entry)
    // Nobody goes on with a run that is done, and its store may be large.
    if (outcome.state === 'done') await folder.removeStores().catch(() => {})
  }

  /** Has a run end after its present step, with its checkpoint; or leave the queue. */
  async stop(id: string): Promise<Run> {
    const entry = this.#entry(id)
    await this.#begun(entry)
    const queued = this.#queue.indexOf(entry)
    if (queued >= 0) {
      this.#queue.splice(queued, 1)
      entry.run.state = 'stopped'
      entry.run.endedAt = new Date().toISOString()
      await this.#save(entry)
      this.#changed(entry)
    } else if (this.#active?.entry === entry && entry.run.state === 'running') {
      await this.#stopActive(this.#active)
    } else if (entry.run.state !== 'stopping') {
      throw new RequestError(409, `the run is ${entry.run.state}: there is nothing to stop`)
    }
    return shown(entry)
  }

  /** Waits for a process that is just being started. */
  async #begun(entry = this.#starting): Promise<void> {
    while (entry && this.#starting === entry) await new Promise(resolve => setTimeout(resolve, 20))
  }

  async #stopActive({ entry, process, timers }: Active): Promise<void> {
    entry.run.state = 'stopping'
    process.signal('SIGTERM')
    // A second one ends it without another step; the last checkpoint is there.
    timers.push(setTimeout(() => process.signal('SIGTERM'), AGAIN_MILLISECONDS))
    timers.push(setTimeout(() => process.signal('SIGKILL'), AGAIN_MILLISECONDS + KILL_MILLISECONDS))
    this.#changed(entry)
    await this.#save(entry)
  }

  /** Puts a run into the queue again: it goes on from its checkpoint, or begins anew where it has none. */
  async resume(id: string): Promise<Run> {
    const entry = this.#entry(id)
    if (!isResumable(entry.run)) throw new RequestError(409, `the run is ${entry.run.state}: it cannot be resumed`)
    if (this.#closing) throw new RequestError(503, 'the studio is about to end')
    const before = entry.run.state
    // At once: whoever asks twice gets one run.
    entry.run.state = 'queued'
    try {
      await this.paths(entry.run)
    } catch (error) {
      entry.run.state = before
      throw error
    }
    entry.run.queuedAt = new Date().toISOString()
    await this.#save(entry)
    this.#enqueue(entry)
    return shown(entry)
  }

  async remove(id: string): Promise<void> {
    const entry = this.#entry(id)
    if (isActive(entry.run)) throw new RequestError(409, `the run is ${entry.run.state}: stop it first`)
    this.#entries.delete(id)
    await entry.saved.catch(() => {})
    await entry.folder.remove()
    this.#tell({ kind: 'removed', id })
  }

  /** Ends the run at work with a checkpoint, and waits for that. Runs in the queue can be resumed by the next studio. */
  async close(): Promise<void> {
    this.#closing = true
    for (const entry of this.#queue.splice(0)) {
      entry.run.state = 'stopped'
      await this.#save(entry).catch(() => {})
    }
    await this.#begun()
    const active = this.#active
    if (!active) return
    const { run } = active.entry
    this.#options.say?.(`stopping the run ${run.name}; spillway studio resumes it from its checkpoint`)
    if (run.state === 'running') await this.#stopActive(active)
    await active.over
    this.#options.say?.(`the run ${run.name} has stopped`)
  }

  #changed(entry: Entry): void {
    this.#tell({ kind: 'run', run: shown(entry) })
  }

  #save(entry: Entry): Promise<void> {
    const { folder } = entry
    entry.saved = entry.saved.catch(() => {}).then(() => folder.save(entry.run))
    return entry.saved
  }
}

export function isActive({ state }: Pick<Run, 'state'>): boolean {
  return ['queued', 'running', 'stopping'].includes(state)
}

const isResumable = ({ state }: KeptRun): boolean => state === 'stopped' || state === 'failed'

/** A run as requests see it. */
function shown({ run, account }: Entry): Run {
  const { process: _, recordsBefore: _before, ...rest } = run
  return { ...rest, resumable: isResumable(run), ...(account.last && { last: account.last }) }
}

function nameOf(given: unknown): string | undefined {
  if (given === undefined || given === null || given === '') return undefined
  if (typeof given !== 'string' || given.length > MOST_NAME) {
    throw new RequestError(400, `the name of a run is a text of ${MOST_NAME} characters at most`)
  }
  return given
}
