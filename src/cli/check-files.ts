// What can be told before any work starts: an input that is not there or is no data, an output that has no place to go
// or would replace an input.
import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileError, SpillwayError, UsageError } from '../errors.ts'
import { fileHead } from '../files/file-head.ts'
import { refuseSameFile } from '../files/same-file.ts'
import { readsFiles } from '../input-formats/all-input-formats.ts'
import { isQuery } from '../input-formats/stand-ins.ts'
import { allModelFormats } from '../model/all-model-formats.ts'

/** Refuses data that is missing, and models given as data. Folders and pipes are checked when they are opened. */
export async function checkData(paths: string[], format: string | undefined): Promise<void> {
  if (!readsFiles(format)) return
  for (const path of paths) {
    if (path === '-' || isQuery(path)) continue
    let head: Uint8Array
    try {
      if (!(await stat(path)).isFile()) continue
      head = await fileHead(path)
    } catch (error) {
      throw fileError(error, path, 'read')
    }
    if (allModelFormats.some(format => format.read && format.detect(head))) {
      throw new SpillwayError(`${path} is a model; data was expected`, 'commands take the data first, then the model')
    }
  }
}

/** What a command reads and writes. */
export interface CommandFiles {
  reads: string[]
  /** Files to be. */
  writes?: string[]
  /** The same, of which "-" is standard output. */
  prints?: string[]
  /** Stores that it makes or changes. */
  stores?: string[]
}

/** Refuses an output in a folder that is not there or cannot be written, and one that is an input or another output as
 *  well. Every command writes to standard output, which may lead to a file too. */
export async function checkOutputs(outputs: CommandFiles): Promise<void> {
  const { reads, prints = [], stores = [] } = outputs
  const writes = [...(outputs.writes ?? []), ...prints]
  if (outputs.writes?.includes('-')) {
    throw new UsageError(
      '"-" is no name of a file, and this output does not go to standard output',
      'name a file; /dev/stdout is standard output',
    )
  }
  for (const path of writes) if (path !== '-') await checkPlace(path)
  const files = reads.filter(path => !isQuery(path))
  await refuseSameFile({ reads: files, writes: [...writes, ...stores] })
  await refuseSameFile({ reads: files, writes: ['-'] })
}

async function checkPlace(path: string): Promise<void> {
  try {
    const existing = await stat(path).catch(() => undefined)
    if (existing?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    if (existing && !existing.isFile()) return
    await access(dirname(existing ? await realpath(path) : path), constants.W_OK)
  } catch (error) {
    throw fileError(error, path, 'write')
  }
}
