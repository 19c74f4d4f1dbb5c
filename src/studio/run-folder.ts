// The folder of a run: what is known of the run, in `run.json`, and the files that its process writes beside it.
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError } from '../errors.ts'
import { writeAtomically } from '../files/atomic-file.ts'
import type { KnownProcess } from '../files/processes.ts'
import { openKept, refuseLinks, requireFolder } from './folder.ts'
import { checkedOptions, type RunOptions } from './run-options.ts'

export type RunState = 'queued' | 'running' | 'stopping' | 'stopped' | 'done' | 'failed'

/** A run as requests see it. */
export interface Run {
  id: string
  name: string
  /** The name of a file in the folder. */
  data: string
  options: RunOptions
  /** What would do the same on a command line. */
  command: string
  state: RunState
  queuedAt: string
  beganAt?: string
  endedAt?: string
  /** Why it failed, or was stopped without being asked to: one sentence. */
  error?: string
  /** What to do about it. */
  advice?: string
  /** The JSON of `train --json`. */
  result?: object
  /** The last record of its progress. */
  last?: object
  /** Whether it can go on: from a checkpoint, or again from its beginning. */
  resumable: boolean
  /** Whether that is from a checkpoint. */
  hasCheckpoint: boolean
}

/** The same with what the studio needs to find its process again. */
export interface KeptRun extends Omit<Run, 'resumable' | 'last'> {
  process?: KnownProcess
  /** Lines of records of earlier starts, which are gone. */
  recordsBefore: number
}

const ID = /^[0-9a-z]{4,40}$/
const STATES: readonly string[] = ['queued', 'running', 'stopping', 'stopped', 'done', 'failed'] satisfies RunState[]
const RUN_FILE = 'run.json'
const MOST_RUN_FILE = 1 << 20

export function newId(): string {
  // By the time first, so that names of folders are in the order of the runs.
  return `${Date.now().toString(36)}${randomBytes(4).toString('hex')}`
}

/** Names of the files of a run. */
export const runFiles = {
  records: 'records.jsonl',
  report: 'report.html',
  model: 'model',
  /** What the process prints: a line of JSON, and what went wrong. */
  output: 'output.json',
  errors: 'errors.txt',
} as const

export class RunFolder {
  readonly path: string

  constructor(runs: string, id: string) {
    if (!ID.test(id)) throw new Error(`${id} is no name of a run`)
    this.path = join(runs, id)
  }

  file(which: keyof typeof runFiles): string {
    return join(this.path, runFiles[which])
  }

  async create(): Promise<void> {
    await mkdir(this.path, { mode: 0o700 }).catch(error => {
      throw fileError(error, this.path, 'make the folder')
    })
  }

  async save(run: KeptRun): Promise<void> {
    await requireFolder(this.path)
    await writeAtomically(join(this.path, RUN_FILE), [Buffer.from(`${JSON.stringify(run, null, 1)}\n`)])
  }

  /** The text of a file of the run; undefined when there is none, and for what is longer. */
  async text(which: keyof typeof runFiles, most: number): Promise<string | undefined> {
    return shortText(this.file(which), most)
  }

  /** Removes what an earlier start has left: all but what is known of the run. With a checkpoint the store and the records stay. */
  async clear(keepsCheckpoint: boolean): Promise<void> {
    await requireFolder(this.path)
    const stays = new Set<string>(keepsCheckpoint ? [RUN_FILE, runFiles.records] : [RUN_FILE])
    for (const entry of await readdir(this.path, { withFileTypes: true })) {
      // A link is none of ours: the process would write where it leads.
      const isOurs = entry.isFile() ? stays.has(entry.name) : keepsCheckpoint && entry.isDirectory()
      if (isOurs) continue
      await rm(join(this.path, entry.name), { recursive: true, force: true })
    }
  }

  /** Refuses links in the stores: what is written there would land elsewhere. */
  async requireNoLinks(): Promise<void> {
    for (const entry of await readdir(this.path, { withFileTypes: true })) {
      if (entry.isDirectory()) await refuseLinks(join(this.path, entry.name), entry.name)
    }
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true }).catch(error => {
      throw fileError(error, this.path, 'remove')
    })
  }

  /** Removes the stores: nobody goes on with a run that is done. */
  async removeStores(): Promise<void> {
    for (const entry of await readdir(this.path, { withFileTypes: true })) {
      if (entry.isDirectory()) await rm(join(this.path, entry.name), { recursive: true, force: true })
    }
  }
}

async function shortText(path: string, most: number): Promise<string | undefined> {
  const file = await openKept(path)
  if (!file) return undefined
  try {
    return (await file.stat()).size > most ? undefined : await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** All runs that a folder has. What is no file of a run, or not one that the studio would have written, is passed over. */
export async function readRuns(runs: string): Promise<KeptRun[]> {
  const found: KeptRun[] = []
  for (const entry of (await readdir(runs, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!entry.isDirectory() || !ID.test(entry.name)) continue
    const text = await shortText(join(runs, entry.name, RUN_FILE), MOST_RUN_FILE)
    const run = text === undefined ? undefined : checkedRun(text, entry.name)
    if (run) found.push(run)
  }
  return found
}

/** A file may come from anywhere, in an archive that was unpacked, say: every field is looked at. */
function checkedRun(text: string, id: string): KeptRun | undefined {
  try {
    const run = JSON.parse(text) as Record<string, unknown>
    const texts = ['name', 'data', 'command', 'queuedAt']
    if (run['id'] !== id || texts.some(field => typeof run[field] !== 'string')) return undefined
    if (typeof run['state'] !== 'string' || !STATES.includes(run['state'])) return undefined
    const { pid, start } = (run['process'] ?? {}) as Partial<KnownProcess>
    const optional = Object.fromEntries(
      ['beganAt', 'endedAt', 'error', 'advice'].flatMap(field =>
        typeof run[field] === 'string' ? [[field, run[field]]] : [],
      ),
    )
    const { name, data, command, queuedAt, state } = run as unknown as KeptRun
    return {
      ...{ id, name, data, command, queuedAt, state, ...optional },
      options: checkedOptions(run['options']),
      hasCheckpoint: run['hasCheckpoint'] === true,
      recordsBefore: Number.isSafeInteger(run['recordsBefore']) ? (run['recordsBefore'] as number) : 0,
      ...(typeof run['result'] === 'object' && run['result'] !== null && { result: run['result'] }),
      ...(Number.isInteger(pid) && pid! > 1 && typeof start === 'string' && { process: { pid: pid!, start } }),
    }
  } catch {
    return undefined
  }
}
