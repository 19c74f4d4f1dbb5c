// The model that is served, and its file: a file that changes is read again. Until it has been read whole, and whenever it cannot
// be read, the model before it answers.
import { unwatchFile, watchFile } from 'node:fs'
import { loadModel } from '../model/files.ts'
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

  readonly #look = (): void => {
    this.#changed = true
    if (!this.#reading) void this.#read()
  }

  async #read(): Promise<void> {
    this.#reading = true
    while (this.#changed) {
      this.#changed = false
      try {
        const served = new ServedModel(await loadModel(this.#path))
        this.#served = served
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
