// Record files on disk: written line by line as a run goes on, so that a killed run leaves what it told, and read again.
import { closeSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { basename } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import { collectRecords, parseRecords, type RunLine, type RunRecords } from './records.ts'

/** Beyond it a file holds no records that this program has written. */
const MOST_BYTES = 1 << 29

export class RecordFile {
  readonly path: string
  #file: number

  /** Begins a new file, or goes on behind the lines that are there. */
  constructor(path: string, { append = false }: { append?: boolean } = {}) {
    this.path = path
    try {
      if (append) dropHalfLine(path)
      this.#file = openSync(path, append ? 'a' : 'w')
    } catch (error) {
      throw fileError(error, path, 'write')
    }
  }

  /** Each line is handed to the system at once. */
  write(line: RunLine): void {
    try {
      writeSync(this.#file, `${JSON.stringify(line)}\n`)
    } catch (error) {
      throw fileError(error, this.path, 'write')
    }
  }

  close(): void {
    if (this.#file >= 0) closeSync(this.#file)
    this.#file = -1
  }
}

/** A run that was killed while it wrote leaves half a line: the next one must not stand behind it. */
function dropHalfLine(path: string): void {
  const bytes = readFileSync(path)
  const end = bytes.lastIndexOf(10) + 1
  if (end < bytes.length) truncateSync(path, end)
}

/** The lines of a file. */
export function readLines(path: string): RunLine[] {
  let text: string
  try {
    const bytes = readFileSync(path)
    if (bytes.length > MOST_BYTES) throw new SpillwayError(`${path} is too large for a file of records`)
    text = bytes.toString('utf8')
  } catch (error) {
    throw error instanceof SpillwayError ? error : fileError(error, path, 'read')
  }
  return parseRecords(text, path)
}

/** The run that a file is of. */
export function readRun(path: string): RunRecords {
  return collectRecords(readLines(path), basename(path).replace(/\.jsonl$/, ''))
}
