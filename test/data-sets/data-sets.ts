// The data sets of the tests: the real ones where there is a folder of them, elsewhere small likenesses that are made here, the
// same rows every time. A test that compares one way with another takes either. What is known of the real set alone, such as
// an optimum, is asserted of the real set, and skipped with the reason elsewhere.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { zstdCompressSync } from 'node:zlib'
import { type Folder, testFolder } from '../folders.ts'
import { linesOf, type SetName } from './likenesses.ts'
import { type Row, readLines, rowOf, writeData } from './rows.ts'

const folders = [process.env['SPILLWAY_DATA'], fileURLToPath(new URL('../../../shared/data', import.meta.url))]
const dataFolder = folders.find(folder => folder !== undefined && existsSync(folder))
const made = testFolder()

/** A set, or its test rows. */
export type PartName = SetName | `${SetName}.t`

export interface DataSet {
  /** A file that is compressed with zstd. */
  path: string
  /** Why this is a likeness; undefined of the real set. */
  why: string | undefined
}

/** A set. Its likeness has as many rows as are asked for, or as are usual for it. */
export function dataSet(name: PartName, likenessRows?: number): DataSet {
  const file = `${name}.zst`
  if (dataFolder && existsSync(join(dataFolder, file))) return { path: join(dataFolder, file), why: undefined }
  const why = dataFolder
    ? `skipped: the data folder has no ${file}`
    : 'skipped: there is no folder of real data; SPILLWAY_DATA can name one'
  const likeness = `${likenessRows ?? 'usual'}-${file}`
  const path = join(made.path, likeness)
  if (!existsSync(path)) {
    const [set, part] = name.endsWith('.t') ? [name.slice(0, -2), 1] : [name, 0]
    const lines = linesOf(set as SetName, likenessRows, part)
    made.write(likeness, zstdCompressSync(`${lines.join('\n')}\n`))
  }
  return { path, why }
}

/** Rows of a set, those of the real one that `keep` picks by their number; its likeness has only as many as are wanted. */
export function rowsOfSet(name: PartName, keep: (line: number) => boolean = () => true, likenessRows?: number): Row[] {
  const { path, why } = dataSet(name, likenessRows)
  return readLines(path)
    .filter((_, k) => why !== undefined || keep(k))
    .map(rowOf)
}

export interface PartOfSet {
  path: string
  rows: Row[]
}

const parts = new Map<string, PartOfSet>()

/** Every so many rows of a set, and a text of them. It is made once. */
export function partOfSet(folder: Folder, name: PartName, every: number): PartOfSet {
  const file = `${name}-${every}.svm`
  const found = parts.get(file)
  if (found) return found
  const rows = rowsOfSet(name, line => line % every === 0)
  const part = { rows, path: folder.write(file, writeData(rows)) }
  parts.set(file, part)
  return part
}
