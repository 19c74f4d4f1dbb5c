// Text to rows in memory: the main thread reads, the pool's threads parse and pack, results are taken in the order of
// the text, so that the outcome is the same for any number of threads.
import { SpillwayError } from '../errors.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import type { BadRow } from '../input-formats/input-format.ts'
import { type LineChunk, LineChunks } from '../input-formats/line-chunks.ts'
import type { Arena } from '../numeric/arena.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { type LabelCount, mergeLabels } from './label-numbers.ts'
import type { ParsedRows } from './parse-rows-task.ts'

/** Rows as solvers see them: records in the arena and a table of their addresses. */
export interface RowSet {
  /** Address of u32[rows]. */
  table: number
  rows: number
  nonzeros: number
  features: number
  /** The class number of a row is its label's place here. */
  labels: LabelCount[]
  indexBase: number
  packedBytes: number
  /** Names the text exactly: a hash over all its bytes. */
  fingerprint: string
  sources: { name: string; rows: number }[]
}

export interface ReadSettings {
  format: string
  /** 0 or 1; found out from the first row when not given. */
  indexBase: number | undefined
  onBadRow: 'fail' | 'skip'
  valueBits: 32 | 64
}

export interface ReadReport {
  bytesRead: number
  bytesTotal: number | undefined
  rows: number
  badRows: number
  /** The first few bad rows in words. */
  badRowMessages: string[]
}

/** Bytes of text a worker takes at a time: small enough for a core's cache, large enough to make messages cheap. */
export const CHUNK_BYTES = 2 << 20

/** The words for a bad row: where, found, expected. */
export function badRowMessage(name: string, lineBefore: number, bad: BadRow): string {
  return `${name}, line ${lineBefore + bad.line + 1}, column ${bad.column}: found ${bad.found}, expected ${bad.expected}`
}

/** Keeps line numbers of each source and the account of bad rows, for whoever takes parsed chunks in order. */
export class BadRowAccount {
  badRows = 0
  messages: string[] = []
  #lines = 0
  #source = -1

  /** Throws for the first bad row unless bad rows are skipped. */
  add(chunk: LineChunk, parsed: { lines: number; badRows: number; bad: BadRow[] }, onBadRow: 'fail' | 'skip'): void {
    if (chunk.source !== this.#source) this.#lines = 0
    this.#source = chunk.source
    if (parsed.badRows > 0) {
      const messages = parsed.bad.map(bad => badRowMessage(chunk.name, this.#lines, bad))
      if (onBadRow === 'fail') throw new SpillwayError(messages[0], parsed.bad[0].advice)
      this.badRows += parsed.badRows
      this.messages.push(...messages.slice(0, 5 - this.messages.length))
    }
    this.#lines += parsed.lines
  }
}

let loads = 0

export async function loadRows(
  arena: Arena,
  pool: ThreadPool,
  paths: string[],
  settings: ReadSettings,
  pack: { unit: boolean; plain: boolean },
  report: (progress: ReadReport) => void,
  signal?: AbortSignal,
): Promise<{ rows: RowSet; read: ReadReport; readMilliseconds: number }> {
  const chunks = new LineChunks(arena, CHUNK_BYTES, pool.size + 3)
  const format = findInputFormat(settings.format)
  const account = new BadRowAccount()
  const labels: LabelCount[] = []
  const byValue = new Map<number, number>()
  const tables: { table: Uint32Array; map: Uint32Array | undefined }[] = []
  const sources: { name: string; rows: number }[] = []
  const load = loads++
  let indexBase = settings.indexBase
  let rows = 0
  let nonzeros = 0
  let features = 0
  let packedBytes = 0
  const hashes: bigint[] = []
  const progress = (): ReadReport => ({
    bytesRead: chunks.bytesRead,
    bytesTotal: chunks.bytesTotal,
    rows,
    badRows: account.badRows,
    badRowMessages: account.messages,
  })

  const take = (chunk: LineChunk, parsed: ParsedRows): void => {
    account.add(chunk, parsed, settings.onBadRow)
    tables.push({ table: parsed.table, map: mergeLabels(labels, byValue, parsed.labels) })
    if (!sources[chunk.source]) sources[chunk.source] = { name: chunk.name, rows: 0 }
    sources[chunk.source].rows += parsed.table.length
    rows += parsed.table.length
    nonzeros += parsed.nonzeros
    features = Math.max(features, parsed.features)
    packedBytes += parsed.packedBytes
    hashes.push(parsed.hash)
    report(progress())
  }

  await inOrder(
    untilAborted(chunks.read(paths), signal),
    chunk => {
      indexBase ??= format.detectIndexBase(arena.bytes(chunk.at, Math.min(chunk.bytes, 1 << 16)).slice())
      return pool.run('parse-rows', {
        format: settings.format,
        at: chunk.at,
        bytes: chunk.bytes,
        parse: { indexBase: indexBase ?? 1, skipBad: settings.onBadRow === 'skip', valueBits: settings.valueBits },
        pack: { ...pack, load },
      })
    },
    take,
    chunk => chunk.release(),
  )

  const table = arena.allocate(Math.max(rows, 1) * 4, 'the row table')
  const all = arena.u32(table, rows)
  let filled = 0
  for (const { table: part, map } of tables) {
    all.set(part, filled)
    if (map) {
      const mark = arena.mark()
      const mapAt = arena.allocate(map.length * 4, 'class numbers')
      arena.u32(mapAt, map.length).set(map)
      arena.numeric.relabelRows(table + filled * 4, part.length, mapAt)
      arena.release(mark)
    }
    filled += part.length
  }
  return {
    rows: {
      table,
      rows,
      nonzeros,
      features,
      labels,
      indexBase: indexBase ?? 1,
      packedBytes,
      fingerprint: hashOf(arena, hashes),
      sources,
    },
    read: progress(),
    readMilliseconds: chunks.readMilliseconds,
  }
}

/** An interrupted reader ends early: what was read until then is whole rows, and can be worked with. */
async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  for await (const item of items) {
    yield item
    if (signal?.aborted) return
  }
}

/** One hash of many. */
function hashOf(arena: Arena, hashes: bigint[]): string {
  const mark = arena.mark()
  const at = arena.allocate(hashes.length * 8, 'a hash')
  arena.u64(at, hashes.length).set(hashes)
  const hash = BigInt.asUintN(64, arena.numeric.xxh64(at, hashes.length * 8))
  arena.release(mark)
  return `xxh64:${hash.toString(16).padStart(16, '0')}`
}

/** Starts work on every item as it comes and takes the results in the order of the items. The source must hold back by
 *  itself (here: by running out of slots, which `release` gives back). The first failure, in that order, is thrown once
 *  nothing is running any more. */
export async function inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  start: (item: Item) => Promise<Result>,
  take: (item: Item, result: Result) => void | Promise<void>,
  release: (item: Item) => void,
): Promise<void> {
  let failure: { error: unknown } | undefined
  let last: Promise<void> = Promise.resolve()
  const running = new Set<Promise<unknown>>()
  try {
    for await (const item of items) {
      const started = start(item)
      running.add(started)
      started.then(
        () => running.delete(started),
        () => running.delete(started),
      )
      const before = last
      last = (async () => {
        await before
        try {
          const result = await started
          if (!failure) await take(item, result)
        } catch (error) {
          failure ??= { error }
        } finally {
          release(item)
        }
      })()
      if (failure) break
    }
  } catch (error) {
    // A failure of the source itself comes after those of the items before it.
    await last
    failure ??= { error }
  }
  await last
  await Promise.allSettled(running)
  if (failure) throw failure.error
}
