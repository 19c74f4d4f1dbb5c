// The beginning of a data set, for those who read another part of it: the first lines decide on the format and on the number of
// the first feature, the same for all parts.
import { UsageError } from '../errors.ts'
import { type ByteSource, isReadOnce, lookAtPipe, openSource } from './byte-source.ts'
import { type FilePart, partName } from './file-part.ts'
import { sourceName } from './given-rows.ts'
import type { InputFormat } from './input-format.ts'
import { isText, Reading } from './reading.ts'

const LINE_FEED = 10
/** Bytes that are looked at, at a time. */
const PIECE = 1 << 16

/** Looks at the beginning of the data that a part is of. Refuses a part where rows are only known from the beginning on. */
export async function lookAtBeginning(reading: Reading, part: FilePart): Promise<void> {
  if (!reading.settled) {
    const source = await openSource(part.first)
    try {
      await lookUntilSettled(reading, source)
    } finally {
      await source.close()
    }
  }
  if (part.from === 0 && part.to === undefined) return
  const { cut, title } = reading.format
  if (cut.by === 'lines' && !cut.about && !cut.endOfRows) return
  throw new UsageError(
    `${partName(part)}: ${title} is read from the beginning of a file on, and cannot be cut at any line`,
    'give each rank files of its own, e.g. part-{rank}.svm, or make a store first: spillway ingest DATA STORE',
  )
}

async function lookUntilSettled(reading: Reading, source: ByteSource): Promise<void> {
  if (source.head) reading.lookAtHead(source.name, source.head)
  const piece = new Uint8Array(PIECE)
  let filled = 0
  /** Whether the piece begins within a line that was looked at, or was too long to be. */
  let within = false
  while (!reading.settled) {
    const got = await source.read(piece.subarray(filled))
    filled += got
    const text = piece.subarray(0, filled)
    const first: number = within ? text.indexOf(LINE_FEED) + 1 : 0
    const last = text.lastIndexOf(LINE_FEED)
    const end: number = got === 0 || last < first ? filled : last + 1
    if (!within || first > 0) reading.look(text.subarray(first, end))
    if (got === 0) return
    within = end === filled && text[filled - 1] !== LINE_FEED
    piece.copyWithin(0, end, filled)
    filled -= end
  }
}

/** The format of a table, as the beginning of a file or a pipe shows it; undefined where it shows none. */
export async function tableFormatOf(path: string, signal?: AbortSignal): Promise<string | undefined> {
  const head = (await isReadOnce(path)) ? await lookAtPipe(path, signal) : await beginningOf(path)
  if (head.length === 0) return undefined
  const reading = new Reading(undefined, undefined)
  if (isText(head)) reading.look(head)
  else reading.lookAtHead(sourceName(path), head)
  return isTable(reading.format) ? reading.format.name : undefined
}

/** Whether what is read in a format are tables. */
export function isTable({ cut }: InputFormat): boolean {
  return cut.by === 'plan' ? cut.tables !== undefined : cut.delimiters !== undefined
}

async function beginningOf(path: string): Promise<Uint8Array> {
  const source = await openSource(path)
  try {
    const piece = new Uint8Array(PIECE)
    return piece.subarray(0, await source.read(piece))
  } finally {
    await source.close()
  }
}
