// A part of a file as an input of its own: whole lines, from one byte to another, or all of a file that is one of several of a
// data set. What stands for a part among the names of files is a name that is registered here.
import { stat } from 'node:fs/promises'
import { nameOfShare, type Share } from '../ranks/shares.ts'

export interface FilePart {
  path: string
  from: number
  /** Undefined for all that follows. */
  to: number | undefined
  /** The file that the data begins with: the format of its first lines is that of all parts. */
  first: string
}

const registered = new Map<string, FilePart>()

/** The name of a part, for all that take names of files. It is known from now on. */
export function nameOfPart(part: FilePart, share: Share): string {
  const name = nameOfShare(part.path, share)
  registered.set(name, part)
  return name
}

export function filePart(path: string): FilePart | undefined {
  return registered.get(path)
}

/** What messages call a part. Its lines are counted from its beginning. */
export function partName({ path, from }: FilePart): string {
  return from === 0 ? path : `${path} from byte ${from} on`
}

/** What the system knows of an input; undefined where there is no such file. */
export interface InputFacts {
  size: number
  mtimeMs: number
  isFile(): boolean
  isDirectory(): boolean
}

/** As `stat`, of a file or of a part of one. */
export async function statInput(path: string): Promise<InputFacts | undefined> {
  if (path === '-') return undefined
  const part = filePart(path)
  const found = await stat(part?.path ?? path).catch(() => undefined)
  if (!found || !part) return found
  const size = (part.to ?? found.size) - part.from
  return { size, mtimeMs: found.mtimeMs, isFile: () => found.isFile(), isDirectory: () => false }
}
