// What can be told before any work starts: an input that is not there or is no data, an output that has no place to go
// or would replace an input.
import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileError, SpillwayError, UsageError } from '../errors.ts'
import { allModelFormats } from '../model/all-model-formats.ts'
import { fileHead } from './file-head.ts'

/** Refuses data that is missing, and models given as data. Folders and pipes are left to whoever opens them. */
export async function checkData(paths: string[]): Promise<void> {
  for (const path of paths) {
    if (path === '-') continue
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

/** Refuses an output in a folder that is not there or cannot be written, and one that is an input as well. */
export async function checkOutput(path: string, inputs: string[]): Promise<void> {
  if (path === '-') return
  try {
    const existing = await stat(path).catch(() => undefined)
    if (existing?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    if (existing && !existing.isFile()) return
    await access(dirname(path), constants.W_OK)
  } catch (error) {
    throw fileError(error, path, 'write')
  }
  const target = await realpath(path).catch(() => undefined)
  if (target === undefined) return
  for (const input of inputs) {
    if ((await realpath(input).catch(() => undefined)) === target) {
      throw new UsageError(
        `${path} would be read and replaced by the same command`,
        'choose another name for the output',
      )
    }
  }
}
