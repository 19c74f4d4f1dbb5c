// A store in words, for `inspect`.
import { binsOf, type Manifest } from '../block-store/manifest.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { schemaLines } from '../tables/describe-schema.ts'
import { formatBytes, formatCount } from './format.ts'

/** `named`: how many hashed features have names, where names were kept. */
export function describeStore(
  manifest: Manifest,
  path: string,
  { verified, named }: { verified: boolean; named: number | undefined },
): { lines: string[]; json: object } {
  const bins = binsOf(manifest)
  const { rows, nonzeros, features, blocks, labels, sources } = manifest
  const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0)
  const sizes = blocks.map(block => block.bytes)
  const shown = labels.slice(0, 20)
  const lines = [
    `${path}: block store, ${formatBytes(bytes)} on disk, made by ${manifest.createdBy}`,
    `rows        ${formatCount(rows)}${manifest.rowWeights ? ', with weights' : ''}`,
    `features    ${formatCount(features)}, counted from ${manifest.indexBase}`,
    `nonzeros    ${formatCount(nonzeros)}: ${(nonzeros / Math.max(rows, 1)).toFixed(1)} a row, ${(bytes / Math.max(nonzeros, 1)).toFixed(2)} bytes each on disk`,
    `blocks      ${blocks.length}, of ${formatBytes(Math.min(...sizes))} to ${formatBytes(Math.max(...sizes))}; rows ${manifest.split === 'random' ? `drawn at random with seed ${manifest.seed}` : 'in the order of the input'}`,
    ...(manifest.inputFormat ? [`text        ${findInputFormat(manifest.inputFormat).title}`] : []),
    ...(manifest.schema ? ['columns', ...schemaLines(manifest.schema)] : []),
    ...(named === undefined ? [] : [`names       of ${formatCount(named)} hashed features`]),
    `values      f${manifest.valueBits}${bins > 0 ? `, rounded to ${formatCount(bins)} bins` : ''}, compression ${manifest.compression}`,
    `labels      ${labels.length}`,
    ...shown.map(label => `            ${label.text.padEnd(10)} ${formatCount(label.rows)} rows`),
    ...(labels.length > shown.length ? [`            and ${formatCount(labels.length - shown.length)} more`] : []),
    ...sources.map(
      (source, k) => `${k === 0 ? 'sources     ' : '            '}${source.name}: ${formatCount(source.rows)} rows`,
    ),
    `fingerprint ${manifest.fingerprint}`,
    ...(verified ? ['verified    every block, segment and checksum'] : []),
  ]
  const { blocks: _, ...rest } = manifest
  const more = { ...(named !== undefined && { namedFeatures: named }), ...(verified && { verified: true }) }
  return { lines, json: { ...rest, blocks: blocks.length, bytes, ...more } }
}

/** Said after a change of a store that has been trained on. */
export const NEXT_TRAINING =
  'the next training from this store (--solver stream, selective or block), with the same options, goes on from the last one'
