// `remove`: rows out of a store. Blocks that lose rows are written anew without them, the others are left as they are.
// Every row keeps its position, so row numbers stay what they were.
import { readFile } from 'node:fs/promises'
import { fileError, SpillwayError, UsageError } from '../errors.ts'
import { refuseSameFile } from '../files/same-file.ts'
import { labelKey, labelOf } from '../input-formats/labels.ts'
import { Arena } from '../numeric/arena.ts'
import { CarriedStates } from './carried-states.ts'
import { changeStore, freeBlockNumbers } from './change-store.ts'
import { blockFileName } from './file-layout.ts'
import { type Manifest, nextPosition, sourceSpans } from './manifest.ts'
import { openStore, Store } from './reader.ts'
import { Rewriter, RowReader } from './rewrite-rows.ts'
import { UNLISTED } from './stored-labels.ts'
import { StoreWriter } from './writer.ts'

/** Which rows go: by number, counted from 1 in the order in which they were added, in a list or in a file with one on
 *  each line; all of a label; or all of a source. */
export type RowsToRemove = { rows: string | Iterable<number> } | { label: string | number } | { source: string }

export interface RemoveOptions {
  signal?: AbortSignal
  progress?: (progress: RemoveProgress) => void
}

export interface RemoveProgress {
  seconds: number
  /** Blocks looked at or written anew so far, and how many there are of both. */
  blocks: number
  blocksTotal: number | undefined
  rows: number
}

export interface RemoveResult {
  manifest: Manifest
  /** Rows that went. */
  rows: number
  nonzeros: number
  /** Blocks that were written anew, and blocks that had no rows left. */
  blocksRewritten: number
  blocksDropped: number
  /** Trained problems whose dual variables the next run starts from. */
  states: number
  bytesRead: number
  bytesWritten: number
  seconds: number
}

/** Says of every row whether it goes, and accounts for it. */
interface Selection {
  /** Rows from this position on stay. */
  end: number
  /** `label` is its number in the manifest. */
  goes(position: number, label: number): boolean
  /** Refuses rows that were named and not found. */
  check(removed: number): void
}

export async function removeRows(
  folder: string,
  what: RowsToRemove,
  options: RemoveOptions = {},
): Promise<RemoveResult> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  await openStore(folder)
  if ('rows' in what && typeof what.rows === 'string') await refuseSameFile({ reads: [what.rows], writes: [folder] })
  const listed = 'rows' in what ? await rowNumbers(what.rows) : undefined
  const arena = new Arena()
  return changeStore(folder, async (old, change) => {
    const selection =
      'label' in what
        ? byLabel(old, String(what.label), folder)
        : 'source' in what
          ? bySource(old, what.source, folder)
          : byNumber(old, listed!, folder)
    const states = change.keep(await CarriedStates.of(arena, folder, old.fingerprint))
    const store = new Store(folder, old)
    const reader = new RowReader(arena, store)
    const sources = sourceSpans(old)
    const counts = { rows: 0, nonzeros: 0, bytesRead: 0 }
    const labels = old.labels.map(label => ({ ...label }))
    const spans = sources.map(source => ({ ...source }))
    let looked = 0
    const tell = (blocksTotal: number | undefined): void => {
      looked++
      options.progress?.({ seconds: seconds(), blocks: looked, blocksTotal, rows: counts.rows })
    }

    // First everything is looked through: which blocks lose rows, and how many of their own.
    const losses = new Map<number, number>()
    for (let block = 0; block < old.blocks.length; block++) {
      let lost = 0
      for await (const rows of reader.rows(block, selection)) {
        options.signal?.throwIfAborted()
        for (let r = 0; r < rows.count; r++) {
          const position = rows.base + rows.positions[r]
          if (!selection.goes(position, rows.labels[r])) continue
          lost++
          counts.nonzeros += rows.starts[r + 1] - rows.starts[r]
          if (rows.labels[r] !== UNLISTED) labels[rows.labels[r]].rows--
          const span = spans.findLast(({ first }) => first <= position)
          if (span) span.rows--
        }
      }
      counts.rows += lost
      if (lost > 0) losses.set(block, lost)
      tell(undefined)
    }
    selection.check(counts.rows)
    if (counts.rows === old.rows) {
      throw new SpillwayError(
        `these are all ${old.rows} rows of ${folder}: nothing would be left`,
        `remove the folder itself if that is what you want`,
      )
    }

    const changed = [...losses.keys()].filter(block => losses.get(block)! < old.blocks[block].rows)
    const numbers = freeBlockNumbers(old, changed.length)
    const writer = change.write(await StoreWriter.extend(folder, { arena, numbers }))
    const rewriter = new Rewriter(arena, old)
    const files = numbers.map(blockFileName)
    for (const [k, block] of changed.entries()) {
      const keep = new Uint8Array(old.blocks[block].rows)
      let row = 0
      for await (const rows of reader.rows(block)) {
        options.signal?.throwIfAborted()
        const kept = keep.subarray(row, row + rows.count)
        for (let r = 0; r < rows.count; r++) {
          kept[r] = selection.goes(rows.base + rows.positions[r], rows.labels[r]) ? 0 : 1
        }
        row += rows.count
        const segment = rewriter.encode(rows, kept, k)
        if (segment) await writer.append([segment], rows.base)
      }
      await states.filterBlock(old.blocks[block].file, files[k], keep)
      tell(old.blocks.length + changed.length)
    }
    const places = new Map(changed.map((block, k) => [block, k]))
    const manifest = await writer.prepare(
      {
        ...old,
        positions: nextPosition(old),
        labels,
        sources: spans
          .filter(({ rows }) => rows > 0)
          .map(({ first, end: _, ...source }) => ({ ...source, firstPosition: first })),
      },
      written =>
        old.blocks.flatMap((entry, block) => {
          if (!losses.has(block)) return [entry]
          const place = places.get(block)
          return place === undefined ? [] : [written[place]]
        }),
    )
    await change.commit(manifest)
    return {
      manifest,
      ...counts,
      bytesRead: reader.bytesRead,
      blocksRewritten: changed.length,
      blocksDropped: losses.size - changed.length,
      states: states.count,
      bytesWritten: changed.length === 0 ? 0 : writer.bytes,
      seconds: seconds(),
    }
  })
}

// --- Which rows

function byLabel(manifest: Manifest, text: string, folder: string): Selection {
  const key = labelKey(labelOf(text))
  const number = manifest.labels.findIndex(entry => entry.text === text || labelKey(entry) === key)
  if (number < 0 || manifest.labels[number].rows === 0) {
    const known = manifest.labels.filter(({ rows }) => rows > 0).map(entry => entry.text)
    const shown =
      known.length > 20 ? `${known.slice(0, 20).join(', ')} and ${known.length - 20} more` : known.join(', ')
    throw new SpillwayError(`${folder} has no rows of the label ${text}`, `its labels are ${shown}`)
  }
  return { end: Number.POSITIVE_INFINITY, goes: (_, found) => found === number, check: () => {} }
}

function bySource(manifest: Manifest, name: string, folder: string): Selection {
  const spans = sourceSpans(manifest).filter(source => source.name === name && source.rows > 0)
  if (spans.length === 0) {
    const known = [...new Set(manifest.sources.map(source => source.name))].join(', ')
    throw new SpillwayError(`${folder} has no rows from ${name}`, `its sources are ${known || 'not known'}`)
  }
  return {
    end: spans[spans.length - 1].end,
    goes: position => spans.some(({ first, end }) => position >= first && position < end),
    check: () => {},
  }
}

interface ListedRows {
  /** In rising order, each once. */
  numbers: Float64Array
  /** Where the k-th stands, for messages. */
  where(k: number): string
}

function byNumber(manifest: Manifest, listed: ListedRows, folder: string): Selection {
  const { numbers } = listed
  const found = new Uint8Array(numbers.length)
  const last = nextPosition(manifest)
  // Row numbers count from 1, positions from 0.
  const place = (position: number): number => {
    let [low, high] = [0, numbers.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (numbers[middle] < position + 1) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    end: numbers[numbers.length - 1],
    goes: position => {
      const k = place(position)
      if (numbers[k] !== position + 1) return false
      found[k] = 1
      return true
    },
    check: removed => {
      if (removed === numbers.length) return
      const k = found.indexOf(0)
      const why = numbers[k] > last ? `rows are numbered from 1 to ${last}` : 'it was removed before'
      throw new SpillwayError(
        `${listed.where(k)}${folder} has no row ${numbers[k]}: ${why}`,
        'nothing was removed; rows are numbered in the order in which they were added, and keep their numbers',
      )
    },
  }
}

/** Row numbers from a file or a list. */
async function rowNumbers(rows: string | Iterable<number>): Promise<ListedRows> {
  const found: number[] = []
  const lines: number[] = []
  if (typeof rows === 'string') {
    let text: string
    try {
      text = await readFile(rows === '-' ? '/dev/stdin' : rows, 'utf8')
    } catch (error) {
      throw fileError(error, rows, 'read')
    }
    text.split('\n').forEach((line, k) => {
      const word = line.replace(/#.*/, '').trim()
      if (word === '') return
      const number = Number(word)
      if (!/^\d+$/.test(word) || number < 1 || !Number.isSafeInteger(number)) {
        throw new SpillwayError(
          `${rows}, line ${k + 1}: "${word.slice(0, 60)}" is no row number`,
          'expected one whole number from 1 on in each line',
        )
      }
      found.push(number)
      lines.push(k + 1)
    })
  } else {
    for (const number of rows) {
      if (!Number.isSafeInteger(number) || number < 1)
        throw new UsageError(`${number} is no row number; they are whole numbers from 1 on`)
      found.push(number)
    }
  }
  if (found.length === 0) {
    throw new SpillwayError(`${typeof rows === 'string' ? rows : 'the list'} names no rows: there is nothing to remove`)
  }
  const order = Array.from(found, (_, k) => k).sort((a, b) => found[a] - found[b])
  const once = order.filter((place, k) => k === 0 || found[place] !== found[order[k - 1]])
  return {
    numbers: Float64Array.from(once, place => found[place]),
    where: k => (typeof rows === 'string' ? `${rows}, line ${lines[once[k]]}: ` : ''),
  }
}
