// A file that is read past the system's page cache where the file system can, and through it where it cannot.
import { close, closeSync, constants, fstat, open, openSync, read, readSync } from 'node:fs'
import { fileError } from '../errors.ts'
import type { ByteCount } from '../sizes.ts'

/** What positions, sizes and addresses of reads past the page cache are multiples of. */
export const DISK_PAGE_BYTES: ByteCount = 4096
const WASM_PAGE_BYTES = 65_536

/** Undefined on systems that have no such reads. */
const DIRECT: number | undefined = constants.O_DIRECT
export const canReadDirectly = DIRECT !== undefined

// TypeScript ships the WebAssembly API only with the browser's library.
interface WebAssemblyApi {
  Memory: new (descriptor: { initial: number }) => { readonly buffer: ArrayBuffer }
}
const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi }

/** Room that begins with a page, as a read past the cache wants it. The memory of a WebAssembly module does. A buffer begins 16 bytes
 *  behind a page, or wherever the heap has room. */
export function pageRoom(bytes: ByteCount): Uint8Array {
  const initial = Math.ceil(bytes / WASM_PAGE_BYTES)
  return new Uint8Array(new WebAssembly.Memory({ initial }).buffer, 0, bytes)
}

/** Some file systems refuse to open a file so, others to read from it. Both are met here: the file is opened once more and read through
 *  the cache from then on. One read is under way at a time. Errors are in words. */
export class DirectFile implements AsyncDisposable {
  readonly #path: string
  #descriptor: number
  #direct: boolean

  private constructor(path: string, descriptor: number, direct: boolean) {
    this.#path = path
    this.#descriptor = descriptor
    this.#direct = direct
  }

  /** `direct`: whether to read past the cache if that can be. */
  static async open(path: string, direct = true): Promise<DirectFile> {
    if (direct && DIRECT) {
      const descriptor = await later<number>(done => open(path, constants.O_RDONLY | DIRECT, done)).catch(error => {
        if (!isRefused(error)) throw fileError(error, path, 'read')
      })
      if (descriptor !== undefined) return new DirectFile(path, descriptor, true)
    }
    return new DirectFile(path, await openPlainly(path), false)
  }

  /** The same at once, for what cannot wait. */
  static openSync(path: string, direct = true): DirectFile {
    try {
      if (direct && DIRECT) return new DirectFile(path, openSync(path, constants.O_RDONLY | DIRECT), true)
    } catch (error) {
      if (!isRefused(error)) throw fileError(error, path, 'read')
    }
    return new DirectFile(path, openPlainlySync(path), false)
  }

  /** Whether it is read past the cache, as far as is known. */
  get direct(): boolean {
    return this.#direct
  }

  async size(): Promise<ByteCount> {
    return (await later<{ size: number }>(done => fstat(this.#descriptor, done))).size
  }

  /** How many bytes were read, none at the end. Past the cache, the position, the target's address and its length are multiples of a
   *  page. */
  async read(target: Uint8Array, position: number): Promise<ByteCount> {
    try {
      return await later<number>(done => read(this.#descriptor, target, 0, target.length, position, done))
    } catch (error) {
      if (!this.#isRefused(error)) throw fileError(error, this.#path, 'read')
    }
    this.#goOnWith(await openPlainly(this.#path))
    return this.read(target, position)
  }

  /** The same at once. */
  readSync(target: Uint8Array, position: number): ByteCount {
    try {
      return readSync(this.#descriptor, target, 0, target.length, position)
    } catch (error) {
      if (!this.#isRefused(error)) throw fileError(error, this.#path, 'read')
    }
    this.#goOnWith(openPlainlySync(this.#path))
    return this.readSync(target, position)
  }

  #isRefused(error: unknown): boolean {
    return this.#direct && isRefused(error)
  }

  #goOnWith(plain: number): void {
    closeSync(this.#descriptor)
    this.#descriptor = plain
    this.#direct = false
  }

  closeSync(): void {
    const descriptor = this.#leave()
    if (descriptor >= 0) closeSync(descriptor)
  }

  async close(): Promise<void> {
    const descriptor = this.#leave()
    if (descriptor >= 0) await later(done => close(descriptor, done))
  }

  /** Closed twice, a number could be that of another file by then. */
  #leave(): number {
    const descriptor = this.#descriptor
    this.#descriptor = -1
    return descriptor
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** What a file system says that cannot read past the page cache, or not from there. */
const isRefused = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EINVAL'

async function openPlainly(path: string): Promise<number> {
  return later<number>(done => open(path, constants.O_RDONLY, done)).catch(error => {
    throw fileError(error, path, 'read')
  })
}

function openPlainlySync(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY)
  } catch (error) {
    throw fileError(error, path, 'read')
  }
}

/** The result of a call that tells it to a function. */
function later<T = void>(call: (done: (error: Error | null, result?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => call((error, result) => (error ? reject(error) : resolve(result as T))))
}
