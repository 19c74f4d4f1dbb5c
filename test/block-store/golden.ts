// The golden stores of format version 1, one chunk for each kind of rows. `node test/block-store/golden.ts FOLDER` writes
// them anew; those in test/fixtures are never to be replaced: they are what version 1 is.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SegmentEncoder } from '../../src/block-store/codecs.ts'
import { StoreWriter } from '../../src/block-store/writer.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { kindsOfRows, makeBatch, type Row, seeded } from './batches.ts'

export const GOLDEN = 'golden-v1.spill'
/** f64 values and zstd: read only, since zstd may compress otherwise one day. */
export const GOLDEN_ZSTD = 'golden-v1-f64-zstd.spill'

const ROWS: Record<string, number> = {
  clusters: 180,
  'one-hot': 6,
  text: 4,
  'one-hot unit length': 30,
  dense: 4,
  'nearly dense': 12,
  'many values': 8,
}

export function goldenChunks(wide: boolean): Row[][] {
  const random = seeded(1)
  const chunks = Object.entries(kindsOfRows).map(([kind, make]) => make(ROWS[kind] ?? 10, random))
  if (wide) for (const row of chunks.flat()) row.values = row.values.map(value => (value === 1 ? 1 : value / 3))
  chunks.push([
    { label: -0, indices: [], values: [] },
    { label: 1e300, indices: [0, 4294967293], values: [-0, 2.5] },
  ])
  return chunks
}

export async function writeGolden(folder: string, name: string): Promise<void> {
  const wide = name === GOLDEN_ZSTD
  const arena = new Arena()
  const compression = wide ? 'zstd' : 'none'
  const encoder = new SegmentEncoder(arena, { blocks: 2, seed: 42, mode: 'random', compression })
  const writer = await StoreWriter.create(join(folder, name), { arena, blocks: 2 })
  const chunks = goldenChunks(wide)
  let rows = 0
  for (const [chunk, batch] of chunks.entries()) {
    await writer.append(encoder.encode(makeBatch(arena, batch, wide ? 8 : 4), chunk, 0), rows)
    rows += batch.length
  }
  await writer.finish({
    createdBy: 'spillway 0.1.0',
    features: 4294967294,
    indexBase: 1,
    labels: [{ value: 1, text: '+1', rows: 1 }],
    sources: [{ name: 'golden.svm', bytes: 1, rows }],
    split: 'random',
    seed: 42,
    valueBits: wide ? 64 : 32,
    compression,
    transforms: { normalize: 'none' },
  })
}

if (import.meta.main) {
  const folder = process.argv[2]
  await writeGolden(folder, GOLDEN)
  await writeGolden(folder, GOLDEN_ZSTD)
  for (const [name, wide] of [
    [GOLDEN, false],
    [GOLDEN_ZSTD, true],
  ] as const) {
    const lines = goldenChunks(wide)
      .flat()
      .map(row => JSON.stringify({ ...row, label: spell(row.label), values: row.values.map(spell) }))
    writeFileSync(join(folder, name.replace('.spill', '.jsonl')), `${lines.join('\n')}\n`)
  }
}

/** JSON has no −0. */
function spell(value: number): number | string {
  return Object.is(value, -0) ? '-0' : value
}
