// Shares the files of a data set out among ranks. Lines of plain text are cut into even stretches of bytes: a line belongs to
// the rank in whose stretch it begins. Compressed files, and formats that are no lines, are dealt out as whole files.
import { type FileHandle, open } from 'node:fs/promises'
import { fileError, UsageError } from '../errors.ts'
import { dealt, fileOfRank, RANK_PATTERN, type Share, stretchesOf } from '../ranks/shares.ts'
import { openSource } from './byte-source.ts'
import { type FilePart, nameOfPart } from './file-part.ts'
import { isText } from './reading.ts'

const LINE_FEED = 10
/** Bytes that are looked through for the end of a line at a time. */
const PIECE = 1 << 16

/** The inputs of a rank. All ranks are given the same files, which they all can read; or names with the pattern for their
 *  number in it, and then each has its own. */
export async function shareOut(paths: string[], share: Share): Promise<string[]> {
  if (share.size === 1) return paths
  const own = paths.filter(path => path.includes(RANK_PATTERN))
  if (own.length > 0) return ownFiles(paths, own, share)
  if (paths.includes('-')) {
    throw new UsageError(
      `standard input goes to one process, and there are ${share.size} ranks`,
      'write it to a file that every rank can read, or a file for each: part-{rank}.svm',
    )
  }
  const found = []
  for (const path of paths) found.push({ path, ...(await look(path)) })
  const whole = found.find(({ kind }) => kind !== 'lines')
  if (whole) return wholeFiles(paths, whole, share)
  return partsOfLines(paths, sizesOf(found), share)
}

const sizesOf = (found: { size: number }[]): number[] => found.map(({ size }) => size)

function ownFiles(paths: string[], own: string[], share: Share): string[] {
  if (own.length < paths.length) {
    throw new UsageError(
      `some files are for one rank each (${own[0]}), and others are for all (${paths.find(path => !own.includes(path))})`,
      'name only files of one kind',
    )
  }
  return paths.map(path => fileOfRank(path, share))
}

/** Whether a file can be cut at any line. */
async function look(path: string): Promise<{ kind: string; size: number }> {
  const source = await openSource(path)
  try {
    if (!source.readAt) return { kind: source.kind, size: source.size ?? 0 }
    return { kind: source.head && isText(source.head) ? 'lines' : 'a file that is no text', size: source.size ?? 0 }
  } finally {
    await source.close()
  }
}

function wholeFiles(paths: string[], why: { path: string; kind: string }, share: Share): string[] {
  if (paths.length < share.size) {
    throw new UsageError(
      `${why.path} is ${why.kind}, which is read as a whole, and there are ${share.size} ranks for ${paths.length === 1 ? 'one file' : `${paths.length} files`}`,
      'decompress it, give at least one file for each rank, or make a store first: spillway ingest DATA STORE',
    )
  }
  const [first] = paths
  return dealt(paths.length, share).map(k => nameOfPart({ path: paths[k], from: 0, to: undefined, first }, share))
}

async function partsOfLines(paths: string[], sizes: number[], share: Share): Promise<string[]> {
  const parts: FilePart[] = []
  for (const { file, from, to } of stretchesOf(sizes, share)) {
    const path = paths[file]
    const part = { path, from: await lineFrom(path, from), to: await lineFrom(path, to), first: paths[0] }
    if (part.from < part.to) parts.push(part)
  }
  // A rank without a line has an input that is empty.
  if (parts.length === 0) parts.push({ path: paths[0], from: 0, to: 0, first: paths[0] })
  return parts.map(part => nameOfPart(part, share))
}

/** Where the first line begins that begins at a byte or behind it. */
async function lineFrom(path: string, byte: number): Promise<number> {
  if (byte === 0) return 0
  let file: FileHandle | undefined
  try {
    file = await open(path)
    const piece = new Uint8Array(PIECE)
    for (let at = byte - 1; ; ) {
      const { bytesRead } = await file.read(piece, 0, PIECE, at)
      if (bytesRead === 0) return at
      const found = piece.subarray(0, bytesRead).indexOf(LINE_FEED)
      if (found >= 0) return at + found + 1
      at += bytesRead
    }
  } catch (error) {
    throw fileError(error, path, 'read')
  } finally {
    await file?.close()
  }
}
