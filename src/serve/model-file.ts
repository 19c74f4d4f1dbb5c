// The model that is served, and its file: a file that changes is read again. Until it has been read whole, and whenever it cannot
// be read, the model before it answers.
import { unwatchFile, watchFile } from 'node:fs'
import { loadModel } from '../model/files.ts'
import type { Arena } from '../numeric/arena.ts'
import { ServedModel } from './served-model.ts'

/** How often the file is looked at. */
const LOOK_MILLISECONDS = 500

export interface ModelFileEvents {
  loaded(served: ServedModel, again: boolean): void
  failed(error: Error): void
}

export class ModelFile {
  readonly #path: string
  readonly #events: ModelFileEvents
  #served: ServedModel
  /** Requests that are being answered, by the model that answers them. */
  readonly #users = new Map<ServedModel, number>()
  /** Of a model that is served no more. A new memory for each would pile up: the language takes its time to free them. */
  #spare: Arena | undefined
  #reading = false
  #changed = false
  /** Why the newest file is not the model that is served, or undefined. */
  trouble: string | undefined

  private constructor(path: string, served: ServedModel, events: ModelFileEvents) {
    this.#path = path
    this.#served = served
    this.#events = events
    watchFile(path, { interval: LOOK_MILLISECONDS, persistent: false }, this.#look)
    events.loaded(served, false)
  }

  static async open(path: string, events: ModelFileEvents): Promise<ModelFile> {
    return new ModelFile(path, new ServedModel(await loadModel(path)), events)
  }

  get served(): ServedModel {
    return this.#served
  }

  /** The model for one request, which says when it is done with it. */
  use(): { served: ServedModel } & Disposable {
    const served = this.#served
    this.#users.set(served, (this.#users.get(served) ?? 0) + 1)
    return {
      served,
      [Symbol.dispose]: () => {
        const left = this.#users.get(served)! - 1
        if (left > 0) this.#users.set(served, left)
        else {
          this.#users.delete(served)
          this.#retire(served)
        }
      },
    }
  }

  #retire(served: ServedModel): void {
    if (served !== this.#served && !this.#users.has(served)) this.#spare = served.leaveArena()
  }

  readonly #look = (): void => {
    this.#changed = true
    if (!this.#reading) void this.#read()
  }

  async #read(): Promise<void> {
    this.#reading = true
    while (this.#changed) {
      this.#changed = false
      try {
        const model = await loadModel(this.#path)
        const arena = this.#spare
        this.#spare = undefined
        const served = new ServedModel(model, arena)
        const before = this.#served
        this.#served = served
        this.#retire(before)
        this.trouble = undefined
        this.#events.loaded(served, true)
      } catch (error) {
        this.trouble = (error as Error).message
        this.#events.failed(error as Error)
      }
    }
    this.#reading = false
  }

  close(): void {
    unwatchFile(this.#path, this.#look)
  }
}
