// What every part of the page shares: the server, the folder, the choices, the runs as they change, and a voice for readers
// of the screen.
import type { Api } from './api.ts'
import type { Choices, Folder, Run } from './api-types.ts'

export class Studio {
  readonly api: Api
  readonly folder: Folder
  readonly choices: Choices
  readonly #runs = new Map<string, Run>()
  readonly #listeners = new Set<() => void>()
  readonly #live: HTMLElement

  constructor(api: Api, given: { folder: Folder; choices: Choices; runs: Run[]; live: HTMLElement }) {
    this.api = api
    this.folder = given.folder
    this.choices = given.choices
    this.#live = given.live
    for (const run of given.runs) this.#runs.set(run.id, run)
  }

  /** The newest first. */
  get runs(): Run[] {
    return [...this.#runs.values()].sort((a, b) => (a.queuedAt < b.queuedAt ? 1 : a.queuedAt > b.queuedAt ? -1 : 0))
  }

  run(id: string): Run | undefined {
    return this.#runs.get(id)
  }

  /** All runs, as a server that was away tells them. */
  setRuns(runs: Run[]): void {
    this.#runs.clear()
    for (const run of runs) this.#runs.set(run.id, run)
    this.#tell()
  }

  setRun(run: Run): void {
    const before = this.#runs.get(run.id)
    this.#runs.set(run.id, run)
    // A run's state is told, its passes are not.
    if (before && before.state !== run.state) this.announce(`Run ${run.name}: ${run.state}.`)
    this.#tell()
  }

  removeRun(id: string): void {
    this.#runs.delete(id)
    this.#tell()
  }

  /** Calls when runs change, until the signal says stop. */
  onRuns(listener: () => void, signal?: AbortSignal): void {
    this.#listeners.add(listener)
    signal?.addEventListener('abort', () => this.#listeners.delete(listener))
  }

  /** Says something to those who do not see the page. */
  announce(text: string): void {
    this.#live.textContent = text
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

/** A view of the page: it fills its place, and cleans up when the signal says that another one comes. */
export interface Place {
  studio: Studio
  element: HTMLElement
  signal: AbortSignal
}

/** The words of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
