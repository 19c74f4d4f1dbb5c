// Data that is there once, and has to be read more often: a table from a pipe, whose columns are learnt before its rows are read,
// files in columns that are read at many places, and the rows of a query. It is put into a file beside the store, which goes when
// the work is done.
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { SpillwayError, UsageError } from '../errors.ts'
import { isAlive } from '../files/processes.ts'
import { writePieces } from '../files/write-pieces.ts'
import { askedInputFormat } from '../input-formats/all-input-formats.ts'
import { type ByteSource, forgetPipe, isReadOnce, lookAtPipe, openSource } from '../input-formats/byte-source.ts'
import { isGivenRows, sourceName } from '../input-formats/given-rows.ts'
import type { InputFormat } from '../input-formats/input-format.ts'
import { isText, Reading } from '../input-formats/reading.ts'
import { isQuery, sqlOf, standsFor, standsNoMore } from '../input-formats/stand-ins.ts'
import { type QueryToRun, startQuery } from '../input-formats/start-query.ts'
import { usableMemory } from '../machine-memory.ts'
import { formatBytes } from '../numeric/arena.ts'
import { type ByteCount, NODE_BYTES } from '../sizes.ts'
import { defaultThreads } from '../threads/pool.ts'
import { unlessAborted } from '../threads/until-aborted.ts'

export interface SpoolSettings {
  /** The name of a format, or `auto`. */
  format: string | undefined
  /** Whether a table of lines is read once, for its columns are known. */
  once?: boolean
  /** Whether data of any format is read again, once it has been read. */
  again?: boolean
  /** The store that is made of the data, or would be: the file goes beside it. */
  store: string
  memory?: ByteCount | undefined
  threads?: number | undefined
  signal?: AbortSignal | undefined
  /** Is told what goes where. */
  tell?: ((what: string) => void) | undefined
}

export interface SpooledData extends AsyncDisposable {
  /** Names of files for those that were given. */
  paths: string[]
  /** The format, and whether there is a header, where that is known. */
  known: { format?: string; header?: 'yes' }
}

/** What the process of a query takes besides the memory that DuckDB is told to stay within: Node, DuckDB's code, and what it does not
 *  count. A sort of 24 MB of Parquet in 76 MB had 156 to 183 MB of anonymous memory, 24 of which were there before. */
const QUERY_BYTES: ByteCount = 112 << 20
const LEAST_FOR_QUERY: ByteCount = 24 << 20
/** Below so much, a second thread of DuckDB would have too little. */
const FEW_FOR_THREADS: ByteCount = 512 << 20
const PIECE = 1 << 20

/** Puts into files what is there once and has to be read more often. */
export async function spoolReadOnce(paths: string[], settings: SpoolSettings): Promise<SpooledData> {
  const files: string[] = []
  const dispose = async (): Promise<void> => {
    for (const file of files) {
      standsNoMore(file)
      await rm(file, { force: true })
    }
    for (const path of paths) await forgetPipe(path)
  }
  const known: SpooledData['known'] = {}
  const found: string[] = []
  try {
    for (const path of paths) {
      if (isQuery(path)) {
        checkQuery(paths, settings)
        Object.assign(known, { format: 'tsv', header: 'yes' })
      } else if (isGivenRows(path) || !(await isReadOnce(path)) || !(await needsFile(path, settings))) {
        found.push(path)
        continue
      }
      await removeOld(settings.store)
      const file = `${settings.store}.${process.pid}-${files.length}.spool`
      files.push(file)
      standsFor(file, path)
      settings.tell?.(
        `${isQuery(path) ? 'the rows of the query go' : `the ${settings.again ? 'data' : 'table'} from the pipe goes`} into ${file} first`,
      )
      if (isQuery(path)) await putRows(path, file, settings)
      else await writePieces(file, piecesOf(await openSource(path), settings))
      found.push(file)
    }
  } catch (error) {
    await dispose()
    throw error
  }
  return { paths: found, known, [Symbol.asyncDispose]: dispose }
}

function checkQuery(paths: string[], { format }: SpoolSettings): void {
  if (paths.length > 1) throw new UsageError('a query is trained on alone', 'join or unite tables in the query')
  const asked = askedInputFormat(format)
  if (asked) throw new UsageError(`format is ${asked.name}, and the rows of a query have none`, 'leave out the format')
}

/** Whether the data of a pipe is in a format that is read more than once. What was looked at is read again by whoever comes. */
async function needsFile(path: string, { format, signal, once = false, again }: SpoolSettings): Promise<boolean> {
  if (again) return true
  const isSuch = ({ cut }: InputFormat): boolean => cut.by === 'plan' || (!once && cut.delimiters !== undefined)
  const asked = askedInputFormat(format)
  if (asked) return isSuch(asked)
  const head = await lookAtPipe(path, signal)
  if (head.length === 0) return false
  const reading = new Reading(undefined, undefined)
  if (isText(head)) reading.look(head)
  else reading.lookAtHead(sourceName(path), head)
  return reading.known !== undefined && isSuch(reading.known)
}

async function* piecesOf(source: ByteSource, { signal }: SpoolSettings): AsyncGenerator<Uint8Array> {
  try {
    const piece = new Uint8Array(PIECE)
    for (;;) {
      signal?.throwIfAborted()
      const filled = await unlessAborted(() => source.read(piece), signal)
      if (filled > 0) yield piece.subarray(0, filled)
      if (filled < PIECE) return
    }
  } finally {
    await source.close()
  }
}

async function putRows(path: string, file: string, settings: SpoolSettings): Promise<void> {
  const temporary = `${file}.tmp`
  try {
    await startQuery({ sql: sqlOf(path), file, temporary, ...memoryForQuery(settings) }, settings.signal)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** DuckDB has what there is besides this process and its own. Training begins when it is gone. */
function memoryForQuery({ memory, threads }: SpoolSettings): Pick<QueryToRun, 'memory' | 'threads'> {
  const others = NODE_BYTES + QUERY_BYTES
  const room = (memory ?? usableMemory()) - others
  if (room < LEAST_FOR_QUERY) {
    throw new SpillwayError(
      `memory is ${formatBytes(memory ?? usableMemory())}; a query needs at least ${formatBytes(others + LEAST_FOR_QUERY)}`,
      'give it more --memory, or write the rows into a file with a program of its own',
    )
  }
  return { memory: room, threads: room < FEW_FOR_THREADS ? 1 : (threads ?? defaultThreads()) }
}

/** Removes what runs left that were killed. */
async function removeOld(store: string): Promise<void> {
  const folder = dirname(store)
  const pattern = /^\.(\d+)-\d+\.spool(\.tmp)?$/
  for (const name of await readdir(folder).catch(() => [])) {
    const match = name.startsWith(basename(store)) ? pattern.exec(name.slice(basename(store).length)) : null
    if (match && !isAlive(Number(match[1]))) await rm(join(folder, name), { recursive: true, force: true })
  }
}
