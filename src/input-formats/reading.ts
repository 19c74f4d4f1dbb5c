// How data is read: its format and the number of its first feature, as asked for or as the data itself shows. One of these
// belongs to a reading; it looks at chunk after chunk, in order, until it knows.
import { UsageError } from '../errors.ts'
import { allInputFormats, askedInputFormat, usualInputFormat } from './all-input-formats.ts'
import type { ByLines, InputFormat } from './input-format.ts'

/** As much of a chunk as is looked at for the number of the first feature, and of a line for the format. */
const HEAD_BYTES = 1 << 16
const LINE_FEED = 10
const HASH = 35

export class Reading {
  #format: InputFormat | undefined
  #indexBase: number | undefined
  readonly #asked: number | undefined
  /** Whether the data is to show its format. */
  readonly #auto: boolean
  readonly #fit: (format: InputFormat) => void

  /** `format` may be `auto`. Several files are one data set: the first line with content decides for all. `fit` throws
   *  where the rows of a format cannot be used as they are meant to be. */
  constructor(
    format: string | undefined,
    indexBase: number | undefined,
    fit: (format: InputFormat) => void = () => {},
  ) {
    this.#fit = fit
    this.#format = askedInputFormat(format)
    this.#auto = this.#format === undefined
    this.#asked = indexBase
    this.#indexBase = indexBase
    this.#check()
  }

  /** Looks at the beginning of an input, which may be that of a format whose files are opened. */
  lookAtHead(name: string, head: Uint8Array): void {
    if (!this.#format) {
      this.#format = openedFormat(head)
      this.#check()
    }
    if (!this.#format || this.#format.cut.by === 'lines') refuseBinary(name, head, this.#format ?? usualInputFormat)
  }

  /** Looks at the beginning of a further input, behind one that begins as text: the rows of one data set are in one format. */
  lookAtFurther(name: string, head: Uint8Array, first: { name: string }): void {
    if (this.#format?.cut.by === 'plan' || isText(head)) return
    if (!this.#auto) refuseBinary(name, head, this.format)
    throw new UsageError(
      `${name} looks like ${noText(head)}, and ${first.name} like text: the files of one data set are in one format`,
      'leave one of them out, or bring them into one format',
    )
  }

  /** Looks at whole lines, and says how such lines are cut. */
  look(text: Uint8Array): ByLines {
    if (!this.#format) {
      const line = firstLine(text)
      if (line !== undefined) {
        this.#format = allInputFormats.find(({ cut }) => cut.by === 'lines' && cut.detect(line)) ?? usualInputFormat
      }
      this.#check()
    }
    const { lines } = this
    if (this.#format && typeof lines.indexBase !== 'number')
      this.#indexBase ??= lines.indexBase(text.slice(0, HEAD_BYTES))
    return lines
  }

  /** Whether the data has shown all that it is looked at for. */
  get settled(): boolean {
    if (!this.#format) return false
    const { cut } = this.#format
    return cut.by === 'plan' || typeof cut.indexBase === 'number' || this.#indexBase !== undefined
  }

  /** The format that was asked for or that the data has shown. */
  get known(): InputFormat | undefined {
    return this.#format
  }
  /** What is known so far. */
  get format(): InputFormat {
    return this.#format ?? usualInputFormat
  }
  get indexBase(): number {
    const { indexBase } = this.format.cut
    return this.#indexBase ?? (typeof indexBase === 'number' ? indexBase : 1)
  }
  get lines(): ByLines {
    const { cut, title } = this.format
    if (cut.by !== 'lines') throw new Error(`${title} has no lines`)
    return cut
  }

  #check(): void {
    if (this.#format) this.#fit(this.#format)
    if (this.#asked === undefined || typeof this.#format?.cut.indexBase !== 'number') return
    throw new UsageError(
      `the data is read as ${this.#format.title} (${this.#format.row}), whose features are positions: an index base would be ignored`,
      'leave it out, or name another format',
    )
  }
}

/** As much of an input as is looked at to tell text from what is none. */
const BEGINNING = 64

const openedFormat = (head: Uint8Array): InputFormat | undefined =>
  allInputFormats.find(({ cut }) => cut.by === 'plan' && cut.detect(head))

/** Whether an input may be text, by its first bytes. */
export function isText(head: Uint8Array): boolean {
  return !openedFormat(head) && !head.subarray(0, BEGINNING).includes(0)
}

/** A parser of lines would find a bad row in it, and say what it makes of its bytes. */
function refuseBinary(name: string, head: Uint8Array, { row }: InputFormat): void {
  if (isText(head)) return
  if (isUtf16(head)) {
    throw new UsageError(
      `${name} looks like text in UTF-16, and UTF-8 was expected`,
      'convert it: iconv -f UTF-16 -t UTF-8 < OLD > NEW',
    )
  }
  throw new UsageError(`${name} looks like ${noText(head)}, and text was expected`, `a row of text is ${row}`)
}

/** Whether a file begins with the byte order mark of text in UTF-16, as spreadsheets write it. */
function isUtf16([first, second, third, fourth]: Uint8Array): boolean {
  const isMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  return isMark && (third === 0) !== (fourth === 0)
}

/** What an input is that is no text. */
function noText(head: Uint8Array): string {
  const format = openedFormat(head)
  if (format) return format.title
  const bytes = [...head.subarray(0, 8)].map(byte => byte.toString(16).padStart(2, '0'))
  return `a binary file (its first bytes are ${bytes.join(' ')})`
}

/** The first line that is neither blank nor a comment, or its beginning. */
function firstLine(chunk: Uint8Array): string | undefined {
  for (let at = 0; at < chunk.length; ) {
    while (at < chunk.length && chunk[at] <= 32) at++
    if (at === chunk.length) return undefined
    let end = chunk.indexOf(LINE_FEED, at)
    if (end < 0) end = chunk.length
    if (chunk[at] !== HASH) return Buffer.from(chunk.slice(at, Math.min(end, at + HEAD_BYTES))).toString('latin1')
    at = end
  }
  return undefined
}
