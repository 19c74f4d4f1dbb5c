// The account of rows that could not be read: where they are, in words, and how many.
import { SpillwayError } from '../errors.ts'
import type { Chunk } from './chunks.ts'
import type { BadRow } from './input-format.ts'

/** The words for a bad row: where, found, expected. */
export function badRowMessage(name: string, lineBefore: number, bad: BadRow): string {
  const { line, column, found, expected } = bad
  const number = lineBefore + line + 1
  const where = `${column === undefined ? 'row' : 'line'} ${number}${column ? `, column ${column}` : ''}`
  return `${name}, ${where}: found ${found}, expected ${expected}`
}

/** Keeps the line and row numbers of each source and the account of bad rows, for a caller that takes parsed chunks in order. */
export class BadRowAccount {
  badRows = 0
  messages: string[] = []
  #lines = 0
  #source = -1

  /** Throws for the first bad row unless bad rows are skipped. */
  add(
    chunk: Pick<Chunk, 'source' | 'name' | 'part'>,
    parsed: { lines: number; badRows: number; bad: BadRow[]; fatal?: boolean },
    onBadRow: 'fail' | 'skip',
  ): void {
    if (chunk.source !== this.#source) this.#lines = 0
    this.#source = chunk.source
    if (parsed.badRows > 0) {
      // The rows of a chunk that has a name are counted from its own beginning.
      const [name, before] = chunk.part ? [`${chunk.name}, ${chunk.part}`, 0] : [chunk.name, this.#lines]
      const messages = parsed.bad.map(bad => badRowMessage(name, before, bad))
      if (onBadRow === 'fail' || parsed.fatal) throw new SpillwayError(messages[0], parsed.bad[0].advice)
      this.badRows += parsed.badRows
      this.messages.push(...messages.slice(0, 5 - this.messages.length))
    }
    this.#lines += parsed.lines
  }
}
