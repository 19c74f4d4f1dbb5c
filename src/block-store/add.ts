// `add`: rows of text into new blocks of a store. Old blocks are left as they are; what the store holds changes at one
// moment, when its manifest is replaced.

import { UsageError } from '../errors.ts'
import { refuseSameFile } from '../files/same-file.ts'
import { askedInputFormat, findInputFormat, knownIndexBase } from '../input-formats/all-input-formats.ts'
import { Arena } from '../numeric/arena.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { spoolReadOnce } from '../rows/spool.ts'
import { CarriedStates } from './carried-states.ts'
import { changeStore, freeBlockNumbers } from './change-store.ts'
import { binsOf, inputFormatOf, type Manifest, nextPosition, type SourceEntry, sourceSpans } from './manifest.ts'
import {
  bufferSizes,
  expectedText,
  type IngestProgress,
  keepFeatureSet,
  readIntoBlocks,
  requireReading,
  type TextInBlocks,
} from './read-into-blocks.ts'
import { openStore } from './reader.ts'
import { type EarlierSources, refuseNamedTwice, refuseSameText } from './source-content.ts'
import { addNames, readStoredNames } from './stored-names.ts'
import { StoreWriter } from './writer.ts'

export interface AddOptions {
  /** Number of new blocks; by default as many as make them about as large as the store's own. */
  blocks?: number
  /** The format of the new text, which must be that of the store; the store's when not given. */
  format?: string
  onBadRow?: 'fail' | 'skip'
  /** Add a source even if the store has one with the same content. */
  again?: boolean
  threads?: number
  /** Bytes of memory to stay inside of. */
  memory?: number
  signal?: AbortSignal
  progress?: (progress: IngestProgress) => void
}

export interface AddResult {
  manifest: Manifest
  /** Of what was added. */
  rows: number
  nonzeros: number
  blocks: number
  /** Labels that the store had not had before, as they are written. */
  newLabels: string[]
  /** Trained problems whose dual variables the next run starts from. */
  states: number
  bytesRead: number
  bytesWritten: number
  seconds: number
  badRows: number
  badRowMessages: string[]
}

/** Adds the rows of one or more files to a store. */
export async function addRows(data: string | string[], folder: string, options: AddOptions = {}): Promise<AddResult> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const given = typeof data === 'string' ? [data] : data
  if (given.length === 0) throw new UsageError('no data was named')
  checkBlocks(options)
  // What is no store is told before anything is locked.
  await openStore(folder)
  await refuseSameFile({ reads: given, writes: [folder] })
  if (!options.again) await refuseNamedTwice(given)
  const { threads, signal } = options
  // Names are found by reading the text once more.
  const again = (await readStoredNames(folder)) !== undefined
  await using spooled = again ? await spoolReadOnce(given, { format: undefined, store: folder, again, signal }) : null
  const paths = spooled?.paths ?? given
  const textBytes = await expectedText(paths)
  requireReading(options.memory)
  const sizes = bufferSizes(options.memory)
  const arena = new Arena()
  return await changeStore(folder, async (old, change) => {
    const format = formatFor(old, options.format, folder)
    const earlier = options.again ? undefined : { folder, sources: old.sources }
    if (earlier) await refuseTexts(arena, paths, format, earlier, options.signal)
    const states = change.keep(await CarriedStates.of(arena, folder, old.fingerprint))
    const blocks = options.blocks ?? newBlocks(old, textBytes)
    const keepsSet = old.usedFeatures > 0
    const featureFile = keepsSet ? nextFeatureFile(old) : undefined
    const writer = change.write(
      await StoreWriter.extend(folder, {
        arena,
        numbers: freeBlockNumbers(old, blocks),
        bufferBytes: sizes.writer,
        ...(featureFile && { featureFile }),
      }),
    )
    const onBadRow = options.onBadRow ?? 'fail'
    const buffers = { chunkBytes: sizes.chunk, longestLine: sizes.line }
    const text = { format, schema: old.schema, onBadRow, threads, ...buffers, signal }
    await addNames(folder, paths, text, options.memory)
    await using pool = await poolForText(arena, paths, threads)
    const firstPosition = nextPosition(old)
    const read: TextInBlocks = await readIntoBlocks(arena, pool, paths, writer, {
      blocks,
      seed: old.seed,
      split: old.split,
      valueBits: old.valueBits,
      bins: binsOf(old),
      compress: old.compression,
      ...{ format, schema: old.schema },
      indexBase: knownIndexBase(format, old.indexBase),
      onBadRow,
      labels: old.labels,
      firstPosition,
      earlier,
      sizes,
      textBytes,
      signal,
      progress: options.progress && (progress => options.progress?.({ seconds: seconds(), ...progress })),
    })
    const usedFeatures = featureFile
      ? await keepFeatureSet(arena, folder, read.maps, {
          earlier: old.featureFile ?? 'features.bin',
          file: featureFile,
        })
      : 0
    const manifest = await writer.prepare(
      {
        ...old,
        features: Math.max(old.features, read.features),
        usedFeatures,
        ...(featureFile && { featureFile }),
        positions: firstPosition + read.rows,
        labels: read.labels,
        sources: [...placedAlready(old), ...placed(read.sources, firstPosition)],
      },
      written => [...old.blocks, ...written.filter(({ rows }) => rows > 0)],
    )
    await change.commit(manifest)
    return { ...whatWasAdded(old, manifest, read), states: states.count, seconds: seconds() }
  })
}

function whatWasAdded(old: Manifest, manifest: Manifest, read: TextInBlocks): Omit<AddResult, 'states' | 'seconds'> {
  const { rows, nonzeros, labels, bytesRead, badRows, badRowMessages } = read
  const added = manifest.blocks.slice(old.blocks.length)
  return {
    ...{ manifest, rows, nonzeros, blocks: added.length, bytesRead, badRows, badRowMessages },
    newLabels: labels.slice(old.labels.length).map(({ text }) => text),
    bytesWritten: added.reduce((sum, block) => sum + block.bytes, 0),
  }
}

function checkBlocks({ blocks }: AddOptions): void {
  if (blocks === undefined || (Number.isInteger(blocks) && blocks >= 1 && blocks <= 1e5)) return
  throw new UsageError(`blocks is ${JSON.stringify(blocks)}; expected a whole number from 1 to 100000`)
}

/** Files of text are compared with what the store holds before they are parsed; everything else once it has been read. */
async function refuseTexts(
  arena: Arena,
  paths: string[],
  format: string,
  earlier: EarlierSources,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (findInputFormat(format).cut.by !== 'lines') return
  for (const path of paths) await refuseSameText(arena, path, earlier, signal)
}

function placedAlready(old: Manifest): SourceEntry[] {
  return sourceSpans(old).map(({ first, end: _, ...source }) => ({ ...source, firstPosition: first }))
}

/** Sources with the positions that their rows begin at, one after the other. */
function placed(sources: SourceEntry[], firstPosition: number): SourceEntry[] {
  let next = firstPosition
  return sources.map(source => {
    const entry = { ...source, firstPosition: next }
    next += source.rows
    return entry
  })
}

/** Rows of two formats do not mix: their features mean different things. */
function formatFor(old: Manifest, asked: string | undefined, folder: string): string {
  const format = inputFormatOf(old)
  const other = askedInputFormat(asked)?.name ?? format
  if (other === format) return format
  throw new UsageError(`${folder} holds rows that came as ${format}; rows that come as ${other} cannot be added to it`)
}

/** How many blocks make the new ones about as large as the old ones. A stream of unknown length is taken to be as large
 *  as the store. */
function newBlocks(old: Manifest, textBytes: number | undefined): number {
  if (textBytes === undefined) return old.split === 'random' ? old.blocks.length : 1
  const text = old.sources.reduce((sum, source) => sum + source.bytes, 0)
  const positions = nextPosition(old)
  const blockText = positions > 0 ? ((text / positions) * old.rows) / old.blocks.length : 0
  return blockText > 0 ? Math.min(100_000, Math.max(1, Math.round(textBytes / blockText))) : 1
}

/** features.bin → features-000001.bin → features-000002.bin … */
function nextFeatureFile({ featureFile }: Manifest): string {
  const number = Number(featureFile?.match(/\d+/)?.[0] ?? 0)
  return `features-${String((number + 1) % 1_000_000).padStart(6, '0')}.bin`
}
