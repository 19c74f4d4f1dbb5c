// The records of a run as its process writes them, a line each: those that are there, and those that come.
import { openKept } from './folder.ts'

/** Bytes that are read at a time. A line that is longer is no record. */
const PIECE_BYTES = 1 << 18
const MOST_LINE = 8 << 20
const LINE_FEED = 10

export interface RecordLine {
  /** Counted from 1, over all files of the run. */
  number: number
  text: string
}

/** Reads whole lines from where it was, each time that it is asked. A line that has not ended yet is read again: a process that was
 *  killed leaves half a line, which the next one takes away. */
export class RecordReader {
  readonly #path: string
  readonly #before: number
  #at = 0
  #lines: number

  /** `before`: lines of a file that this one took the place of. Numbers go on behind them. */
  constructor(path: string, before = 0) {
    this.#path = path
    this.#before = before
    this.#lines = before
  }

  /** Lines in this file so far. */
  get lines(): number {
    return this.#lines - this.#before
  }

  /** Whole lines that have come since. */
  async *read(): AsyncGenerator<RecordLine[]> {
    const file = await openKept(this.#path)
    if (!file) return
    try {
      for (let room = PIECE_BYTES; ; ) {
        const piece = Buffer.allocUnsafe(room)
        const { bytesRead } = await file.read(piece, 0, room, this.#at)
        const end = piece.subarray(0, bytesRead).lastIndexOf(LINE_FEED)
        if (end >= 0) {
          this.#at += end + 1
          room = PIECE_BYTES
          yield this.#cut(piece.toString('utf8', 0, end))
        } else if (bytesRead < room) return
        else if (room < MOST_LINE) room *= 2
        // What is so long is no record: it is passed over, and its end is taken for a line that is none either.
        else this.#at += bytesRead
      }
    } finally {
      await file.close()
    }
  }

  #cut(text: string): RecordLine[] {
    return text.split('\n').map(line => ({ number: ++this.#lines, text: line }))
  }
}

/** A record, or undefined for a line that is none. */
export function recordOf(text: string): Record<string, unknown> | undefined {
  try {
    const record = JSON.parse(text) as Record<string, unknown> | null
    return typeof record === 'object' && record !== null && typeof record['record'] === 'string' ? record : undefined
  } catch {
    return undefined
  }
}

/** What the records of a run say that the studio itself has to know. */
export class RunAccount {
  /** The last record of progress. */
  last: object | undefined
  /** Whether the run goes over blocks, and so keeps checkpoints. */
  overBlocks = false

  lines = 0

  add(text: string): void {
    this.lines++
    const record = recordOf(text)
    if (record?.['record'] !== 'progress') return
    this.last = record
    if (record['stage'] === 'plan' && typeof record['blocks'] === 'object') this.overBlocks = true
  }
}

/** Reads all records of a run that nobody follows. */
export async function accountOf(path: string): Promise<RunAccount> {
  const account = new RunAccount()
  for await (const lines of new RecordReader(path).read()) for (const { text } of lines) account.add(text)
  return account
}

/** The last record of progress, by the end of the file alone. */
export async function lastProgress(path: string): Promise<object | undefined> {
  const file = await openKept(path)
  if (!file) return undefined
  try {
    const { size } = await file.stat()
    const piece = Buffer.alloc(Math.min(size, PIECE_BYTES))
    await file.read(piece, 0, piece.length, size - piece.length)
    const account = new RunAccount()
    for (const text of piece.toString().split('\n')) account.add(text)
    return account.last
  } finally {
    await file.close()
  }
}
