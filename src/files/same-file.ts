// What a command reads and what it writes must be different files. Files are compared by what they are on the disk: names
// that lead to one file, by links of either kind or through standard input and output, are found out. Devices and pipes
// may serve for both.
import { type BigIntStats, fstatSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { UsageError } from '../errors.ts'

/** A path as it was given, and what it leads to. */
interface Place {
  path: string
  name: string
  /** Without links; empty for standard input and output. */
  real: string
  /** Undefined for what is not there yet. */
  found: BigIntStats | undefined
}

/** Refuses to read and to write one file, to write one twice, to write among the files of a store, and to read a file from
 *  within a store that is written. `-` is standard input among `reads`, standard output among `writes`. */
export async function refuseSameFile({ reads, writes }: { reads: string[]; writes: string[] }): Promise<void> {
  const [inputs, outputs] = [
    await Promise.all(reads.map(path => placeOf(path, 'standard input', 0))),
    await Promise.all(writes.map(path => placeOf(path, 'standard output', 1))),
  ]
  for (const [k, output] of outputs.entries()) {
    for (const input of inputs) {
      if (isSame(output, input)) {
        throw new UsageError(
          output.name === input.name || (output.real !== '' && resolve(output.path) === resolve(input.path))
            ? `${output.name} would be read and replaced by the same command`
            : `${output.name} is the same file as ${input.name}; the command would read and replace it`,
          'choose another name for the output',
        )
      }
      if (isInside(output, input) || (await hasLinkTo(input, output))) throw amongItsFiles(output, input)
      if (isInside(input, output)) {
        throw new UsageError(
          `${input.name} lies inside ${output.name}, which the command would change`,
          'move the file to another place, or name another store',
        )
      }
    }
    for (const other of outputs) {
      if (other !== output && isInside(output, other)) throw amongItsFiles(output, other)
    }
    for (const other of outputs.slice(k + 1)) {
      if (!isSame(output, other) && !(output.path === '-' && other.path === '-')) continue
      throw new UsageError(
        output.name === other.name
          ? `${output.name} would be written twice by the same command`
          : `${output.name} is the same file as ${other.name}; the command would write both`,
        'give them two names',
      )
    }
  }
}

const amongItsFiles = (output: Place, store: Place): UsageError =>
  new UsageError(
    `${output.name} lies among the files of ${store.name}, where nothing else may be written`,
    'choose another place for the output',
  )

async function placeOf(path: string, standard: string, descriptor: number): Promise<Place> {
  if (path === '-') {
    return { path, name: standard, real: '', found: fstatSync(descriptor, { bigint: true }) }
  }
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  // Of what is not there, the folder is. A pipe that /dev/stdout leads to has no path.
  const real = found
    ? await realpath(path).catch(() => resolve(path))
    : join(await realpath(dirname(path)).catch(() => resolve(dirname(path))), basename(path))
  return { path, name: path, real, found }
}

function isSame(a: Place, b: Place): boolean {
  if (!a.found || !b.found) return !a.found && !b.found && a.real === b.real
  const special = !a.found.isFile() && !a.found.isDirectory()
  return !special && a.found.dev === b.found.dev && a.found.ino === b.found.ino
}

function isInside(a: Place, folder: Place): boolean {
  if (a.real === '' || !folder.found?.isDirectory()) return false
  const way = relative(folder.real, a.real)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Whether a file of the folder is this file under another name. */
async function hasLinkTo(folder: Place, { found }: Place): Promise<boolean> {
  if (!folder.found?.isDirectory() || !found?.isFile() || found.nlink < 2n) return false
  for (const name of await readdir(folder.path, { recursive: true }).catch(() => [])) {
    const file = await stat(join(folder.path, name), { bigint: true }).catch(() => undefined)
    if (file?.dev === found.dev && file.ino === found.ino) return true
  }
  return false
}
