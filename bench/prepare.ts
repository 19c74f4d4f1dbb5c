// Turns the published files into what both peers read: decompressed, rows of unit length or features scaled, one class
// against the rest. It happens once, on disk, so that no peer is timed with work that another did not do.
import { createReadStream, createWriteStream, writeSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { forEachLine, forEachRow, type TextRow } from './libsvm-text.ts'

/** As many digits as the sets on the LIBSVM site carry. */
const DIGITS = 6
const FLUSH_CHARACTERS = 1 << 20

/** A finished file only ever appears whole: half a file would be taken for the data the next time. */
export async function writeWhole(file: string, write: (temporary: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const temporary = `${file}.part`
  try {
    await write(temporary)
    await rename(temporary, file)
  } finally {
    await rm(temporary, { force: true })
  }
}

export function decompress(from: string, to: string): Promise<void> {
  return writeWhole(to, temporary =>
    pipeline(createReadStream(from), createZstdDecompress(), createWriteStream(temporary)),
  )
}

export type RowChange = (row: TextRow) => void

/** Rewrites a LIBSVM file row by row; `change` works on the row in place. */
export function rewrite(from: string, to: string, change: RowChange): Promise<void> {
  return writeWhole(to, async temporary => {
    const handle = await open(temporary, 'w')
    const out = handle.createWriteStream()
    let text = ''
    await forEachRow(from, row => {
      change(row)
      text += formatRow(row)
      if (text.length >= FLUSH_CHARACTERS) {
        out.write(text)
        text = ''
      }
    })
    await new Promise<void>((resolve, reject) => {
      out.on('error', reject)
      out.end(text, resolve)
    })
  })
}

/** The same lines with those of one label together, smallest label first: the worst order for blocks cut in sequence. */
export async function sortByLabel(from: string, to: string): Promise<void> {
  const labelOf = (bytes: Buffer, start: number, end: number): number => {
    const space = bytes.subarray(start, end).indexOf(32)
    return Number(bytes.toString('latin1', start, space < 0 ? end : start + space))
  }
  const labels = new Set<number>()
  await forEachLine(from, (bytes, start, end) => labels.add(labelOf(bytes, start, end)))
  await writeWhole(to, async temporary => {
    const handle = await open(temporary, 'w')
    // One reading for each label: whole lines are never kept, and there are few labels.
    for (const label of [...labels].sort((a, b) => a - b)) {
      let pieces: Buffer[] = []
      let size = 0
      const flush = (): void => {
        writeSync(handle.fd, Buffer.concat(pieces))
        pieces = []
        size = 0
      }
      await forEachLine(from, (bytes, start, end) => {
        if (labelOf(bytes, start, end) !== label) return
        pieces.push(Buffer.from(bytes.subarray(start, end)), Buffer.from('\n'))
        size += end - start + 1
        if (size >= FLUSH_CHARACTERS) flush()
      })
      flush()
    }
    await handle.close()
  })
}

/** Deals lines out to files: line k, from 0, goes to the file that `choose` says, or nowhere. */
export async function dealLines(from: string, files: string[], choose: (line: number) => number): Promise<void> {
  const handles = await Promise.all(files.map(file => open(`${file}.part`, 'w')))
  const texts = files.map(() => '')
  const flush = (f: number): void => {
    writeSync(handles[f].fd, texts[f], null, 'latin1')
    texts[f] = ''
  }
  try {
    let line = 0
    await forEachLine(from, (bytes, start, end) => {
      const f = choose(line++)
      if (f < 0 || f >= files.length) return
      texts[f] += `${bytes.toString('latin1', start, end)}\n`
      if (texts[f].length >= FLUSH_CHARACTERS) flush(f)
    })
    for (const f of files.keys()) flush(f)
    for (const file of files) await rename(`${file}.part`, file)
  } finally {
    for (const handle of handles) await handle.close()
    for (const file of files) await rm(`${file}.part`, { force: true })
  }
}

function formatRow({ label, length, indices, values }: TextRow): string {
  let line = label > 0 ? `+${label}` : String(label)
  for (let p = 0; p < length; p++) {
    if (values[p] !== 0) line += ` ${indices[p]}:${Number(values[p].toPrecision(DIGITS))}`
  }
  return `${line}\n`
}

export const unitLength: RowChange = row => {
  let squares = 0
  for (let p = 0; p < row.length; p++) squares += row.values[p] ** 2
  const factor = squares > 0 ? 1 / Math.sqrt(squares) : 1
  for (let p = 0; p < row.length; p++) row.values[p] *= factor
}

/** One class against the rest: +1 for `label`, −1 for all others. */
export function against(label: number): RowChange {
  return row => {
    row.label = row.label === label ? 1 : -1
  }
}

/** Divides each feature by its largest magnitude: everything within [−1, 1], zeros stay zeros. */
export async function byLargest(file: string): Promise<RowChange> {
  const largest = new Map<number, number>()
  await forEachRow(file, ({ length, indices, values }) => {
    for (let p = 0; p < length; p++) {
      const size = Math.abs(values[p])
      if (size > (largest.get(indices[p]) ?? 0)) largest.set(indices[p], size)
    }
  })
  return row => {
    for (let p = 0; p < row.length; p++) row.values[p] /= largest.get(row.indices[p]) ?? 1
  }
}

/** Moves and scales each feature to [0, 1], seen from the whole file. A feature that can be negative is then present in
 *  every row, for its 0 is no longer 0; for few features. */
export async function toUnitRange(file: string): Promise<RowChange> {
  const least: number[] = []
  const most: number[] = []
  await forEachRow(file, ({ length, indices, values }) => {
    for (let p = 0; p < length; p++) {
      // Features that a row leaves out are 0.
      least[indices[p]] = Math.min(least[indices[p]] ?? 0, values[p])
      most[indices[p]] = Math.max(most[indices[p]] ?? 0, values[p])
    }
  })
  const dense = new Float64Array(least.length)
  return row => {
    dense.fill(0)
    for (let p = 0; p < row.length; p++) dense[row.indices[p]] = row.values[p]
    row.length = 0
    for (let j = 1; j < dense.length; j++) {
      if (!(most[j] > least[j])) continue
      row.indices[row.length] = j
      row.values[row.length++] = (dense[j] - least[j]) / (most[j] - least[j])
    }
  }
}

/** Multiplies every value. */
export function times(factor: number): RowChange {
  return row => {
    for (let p = 0; p < row.length; p++) row.values[p] *= factor
  }
}
