// The folder that the studio works in. A name that a request brings leads to a file inside the folder, links followed, or
// nowhere. What the studio keeps lies in a folder of its own there, which no name reaches.
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, realpath, stat } from 'node:fs/promises'
import { join, posix, relative, sep, win32 } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import { RequestError } from '../serve/request-error.ts'

/** Where the studio keeps its runs. */
export const WORK_FOLDER = '.spillway'
const RUNS_FOLDER = 'runs'
const MOST_NAME = 1024

export class StudioFolder {
  /** Its real path. */
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async open(path: string): Promise<StudioFolder> {
    try {
      const real = await realpath(path)
      if (!(await stat(real)).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' })
      return new StudioFolder(real)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code !== 'ENOTDIR') throw fileError(error, path, 'open')
      throw new SpillwayError(`${path} is not a folder`, 'name the folder that your data is in')
    }
  }

  /** The real path of the file or store that a request names. */
  async resolve(name: unknown): Promise<string> {
    const given = checkedName(name)
    let real: string
    try {
      real = await realpath(join(this.path, given))
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'ENOENT' || code === 'ENOTDIR')
        throw new RequestError(404, `there is no file ${given} in this folder`)
      throw new RequestError(403, `the file ${given} cannot be read`)
    }
    if (!this.holds(real)) throw new RequestError(403, `the name ${given} leads out of this folder`)
    return real
  }

  /** Whether a real path lies in the folder, and not in what the studio keeps there. */
  holds(real: string): boolean {
    if (!real.startsWith(this.path.endsWith(sep) ? this.path : this.path + sep)) return false
    return !isWork(relative(this.path, real).split(sep)[0])
  }

  /** The folder of all runs, made if it is not there. Links are refused: what is written there would land elsewhere. */
  async runsFolder(): Promise<string> {
    let at = this.path
    for (const part of [WORK_FOLDER, RUNS_FOLDER]) {
      at = join(at, part)
      await mkdir(at, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw fileError(error, at, 'make the folder')
      })
      await requireFolder(at)
    }
    return at
  }
}

/** Refuses what is no folder itself: a link to one, say. */
export async function requireFolder(path: string): Promise<void> {
  if ((await lstat(path)).isDirectory()) return
  throw new SpillwayError(
    `${path} is not a folder of its own`,
    'the studio keeps its runs there, and follows no link: remove it, or choose another folder',
  )
}

/** Refuses a store with links in it: a run writes its states into the store, and they would land where a link leads. */
export async function refuseLinks(path: string, name: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() || entry.isDirectory()) continue
    throw new RequestError(
      403,
      `the store ${name} has a link in it, ${entry.name}: the studio writes into no such store`,
    )
  }
}

/** Opens a file that the studio keeps; a link is not followed. Undefined where there is no such file. */
export async function openKept(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY + (constants.O_NOFOLLOW ?? 0) + (constants.O_NONBLOCK ?? 0))
  } catch {
    return undefined
  }
  if ((await file.stat()).isFile()) return file
  await file.close()
  return undefined
}

/** Makes a file that the studio keeps, empty; in place of a link, of nothing that it leads to. */
export async function createKept(path: string): Promise<FileHandle> {
  const flags = constants.O_WRONLY + constants.O_CREAT + constants.O_TRUNC + (constants.O_NOFOLLOW ?? 0)
  try {
    return await open(path, flags, 0o600)
  } catch (error) {
    throw fileError(error, path, 'write')
  }
}

const isWork = (part: string): boolean => part.toLowerCase() === WORK_FOLDER

/** A name that can only mean something below the folder. */
function checkedName(name: unknown): string {
  if (typeof name !== 'string' || name === '') throw new RequestError(400, 'a name of a file is missing')
  if (name.length > MOST_NAME)
    throw new RequestError(400, `the name of the file is longer than ${MOST_NAME} characters`)
  if (name.includes('\0') || name.includes('\\')) {
    throw new RequestError(400, 'the name of the file has a character that names here do not have')
  }
  const outside = posix.isAbsolute(name) || win32.isAbsolute(name) || /^[a-z]:/i.test(name)
  const parts = name.split('/')
  if (outside || parts.some(part => part === '' || part === '.' || part === '..')) {
    throw new RequestError(403, 'the name of the file leads out of this folder; expected a name inside it')
  }
  if (isWork(parts[0])) throw new RequestError(403, `what is in ${WORK_FOLDER} is the studio's own`)
  return name
}
