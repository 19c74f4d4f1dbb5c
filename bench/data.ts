// Data sets by name. Adding one is adding an entry: where it comes from, what is done to it, what its values are like.
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeApart } from './apart.ts'
import { hogOfRow } from './hog.ts'
import { spillway } from './peers/spillway.ts'
import {
  against,
  byLargest,
  dealLines,
  decompress,
  type RowChange,
  rewrite,
  sortByLabel,
  times,
  toUnitRange,
  unitLength,
} from './prepare.ts'

export type Size = 'small' | 'full'

export interface PreparedData {
  name: string
  kind: 'real' | 'generated'
  /** What is stored per nonzero depends on it: word weights, all ones, or every value present. */
  values: 'text' | 'ones' | 'dense'
  about: string
  file: string
  bytes: number
  /** Other rows of the same kind, if there are any. */
  testFile?: string
}

interface DataSet extends Pick<PreparedData, 'kind' | 'values' | 'about'> {
  /** Of a published set: the name of its file. */
  source?: string
  prepare(size: Size): Promise<{ file: string; testFile?: string }>
}

/** Why a set cannot be had; said in the results, and the suite goes on without it. */
export class DataMissing extends Error {}

export const dataFolder = process.env['SPILLWAY_DATA'] ?? fileURLToPath(new URL('../../shared/data', import.meta.url))
/** Decompressed, prepared and generated files; ignored by git, and safe to delete. */
export const cacheFolder = process.env['SPILLWAY_BENCH_CACHE'] ?? fileURLToPath(new URL('./data', import.meta.url))

const SEED = 1
/** Bytes of text of a generated training file. */
const GENERATED_SIZE: Record<Size, string> = { small: '60M', full: '600M' }
/** About 800,000 rows of 23 nonzeros, and 494,000 of 13. */
const CLICKS_SIZE: Record<Size, string> = { small: '15M', full: '110M' }
const CONNECTIONS_SIZE: Record<Size, string> = { small: '12M', full: '58M' }
/** About 245,000 rows of 3 numbers. */
const SKIN_SIZE: Record<Size, string> = { small: '500K', full: '4900K' }
/** For suites of many runs. */
const MEDIUM_SIZE: Record<Size, string> = { small: '60M', full: '200M' }
/** About 20,000 and 3,000 rows of visual words, and a quarter more of either to test on. */
const WORDS_SIZE: Record<Size, string> = { small: '12M', full: '84M' }
/** Rows of small runs, where a real set is cut. */
const SMALL_ROWS = 4000
/** Small sets of deformed digits, or of classes that lie apart, have so many times fewer rows; and rows to test on. */
const SMALL_SHARE = 50
const TEST_ROWS = 20_000
/** Rows of 5 GiB in memory, at 15 bytes of text for each nonzero. */
const WINDOW_SIZE: Record<Size, string> = { small: '60M', full: '9600M' }
/** A little over ten times the memory that the suite out-of-core allows, 256M. */
const LARGE_SIZE: Record<Size, string> = { small: '60M', full: '2600M' }

export const dataSets: Record<string, DataSet> = {
  webspam: generated('webspam', 'text', 'long sparse rows, 16.6 M features'),
  'yahoo-korea': generated('yahoo-korea', 'text', 'sparse rows, 3.1 M features'),
  epsilon: generated('epsilon', 'dense', '2,000 features, all present'),
  kddb: generated('kddb', 'ones', 'every value 1, 29.9 M features'),
  clicks: generated('clicks', 'ones', 'short rows, every value 1, 485,000 features', CLICKS_SIZE),
  connections: generated('connections', 'text', 'short rows, 118 features', CONNECTIONS_SIZE),
  skin: generated('skin', 'dense', '3 features that are not scaled, 245,000 rows', SKIN_SIZE),
  'skin-scaled': {
    ...{ kind: 'generated', values: 'dense', about: 'skin, each feature divided by its largest magnitude' },
    async prepare(size) {
      const { file } = await dataSets['skin'].prepare(size)
      const scaled = file.replace(/\.svm$/, '.scaled.svm')
      if (!existsSync(scaled)) await rewrite(file, scaled, await byLargest(file))
      return { file: scaled }
    },
  },
  'words-million': generated('yahoo-korea', 'text', 'sparse rows, 1 M features', GENERATED_SIZE, {
    features: 1_000_000,
  }),
  'epsilon-window': generated('epsilon', 'dense', '2,000 features, all present, 5 GiB of rows', WINDOW_SIZE, {
    testRows: 1000,
  }),
  'webspam-medium': generated('webspam', 'text', 'long sparse rows, 16.6 M features', MEDIUM_SIZE),
  'yahoo-korea-medium': generated('yahoo-korea', 'text', 'sparse rows, 3.1 M features', MEDIUM_SIZE),
  'epsilon-medium': generated('epsilon', 'dense', '2,000 features, all present', MEDIUM_SIZE),
  'kddb-medium': generated('kddb', 'ones', 'every value 1, 29.9 M features', MEDIUM_SIZE),
  'webspam-large': generated('webspam', 'text', 'long sparse rows, ten times the memory allowed', LARGE_SIZE),
  'epsilon-large': generated('epsilon', 'dense', '2,000 features, all present, 2.6 GB', LARGE_SIZE),
  'webspam-sorted': {
    ...{ kind: 'generated', values: 'text', about: 'webspam, all rows of one label before those of the next' },
    async prepare(size) {
      const { file, testFile } = await dataSets['webspam'].prepare(size)
      const sorted = file.replace(/\.svm$/, '.sorted.svm')
      if (!existsSync(sorted)) await sortByLabel(file, sorted)
      return { file: sorted, testFile }
    },
  },
  a9a: real('a9a', { values: 'ones', about: 'as published', test: 'a9a.t' }),
  w8a: real('w8a', { values: 'ones', about: 'as published' }),
  dna: real('dna.scale', { values: 'ones', about: 'as published, 3 classes', test: 'dna.scale.t' }),
  'imdb-raw': real('imdb', { values: 'text', about: 'word counts as published', cut: true }),
  imdb: real('imdb', {
    values: 'text',
    about: 'word counts, rows scaled to length 1',
    test: 'imdb.t',
    change: async () => unitLength,
  }),
  'news20bydate-11': real('news20bydate', {
    values: 'text',
    about: 'class 11 against the rest, word counts, rows scaled to length 1',
    test: 'news20bydate.t',
    change: async () => row => {
      against(11)(row)
      unitLength(row)
    },
  }),
  'news20bydate-raw': real('news20bydate', {
    values: 'text',
    about: 'word counts as published, 20 classes',
    cut: true,
  }),
  news20bydate: real('news20bydate', {
    values: 'text',
    about: 'word counts, rows scaled to length 1, 20 classes',
    test: 'news20bydate.t',
    change: async () => unitLength,
    ending: 'unit',
    cut: true,
  }),
  'covtype-raw': real('covtype.libsvm.binary', {
    values: 'text',
    about: 'as published: features of very different size',
    cut: true,
  }),
  covtype: real('covtype.libsvm.binary', {
    values: 'text',
    about: 'each feature divided by its largest magnitude',
    change: byLargest,
  }),
  'mnist-raw': real('mnist', { values: 'text', about: 'digits as grey levels from 0 to 255, 10 classes', cut: true }),
  mnist: real('mnist', {
    values: 'text',
    about: 'digits as grey levels from 0 to 1, 10 classes',
    test: 'mnist.t',
    change: async () => times(1 / 255),
    cut: true,
  }),
  'mnist-1': real('mnist', {
    values: 'text',
    about: 'digit 1 against the rest, grey levels from 0 to 1',
    test: 'mnist.t',
    change: async () => row => {
      against(1)(row)
      times(1 / 255)(row)
    },
    ending: 'digit-1',
    cut: true,
  }),
  'mnist-hog': real('mnist', {
    values: 'text',
    about: 'digits as 441 histograms of gradient orientations, 10 classes',
    test: 'mnist.t',
    change: async () => hogOfRow,
    ending: 'hog',
    cut: true,
  }),
  'digits-100k': digitOne(100_000),
  'digits-300k': digitOne(300_000),
  'digits-1m': digitOne(1_000_000),
  'apart-100k': apart(100_000),
  'apart-300k': apart(300_000),
  'apart-1m': apart(1_000_000),
  'apart-10m': apart(10_000_000),
  'visual-words': generated('visual-words', 'text', 'histograms of 21,000 visual words, 100 classes', WORDS_SIZE),
  'covtype-unit': {
    ...{ kind: 'real', values: 'text', about: 'each feature from 0 to 1, every tenth row for testing' },
    async prepare(size) {
      const whole = await decompressed('covtype.libsvm.binary')
      const stem = `${whole}.unit${size === 'small' ? '-small' : ''}`
      const [file, testFile] = [`${stem}.train`, `${stem}.test`]
      if (existsSync(file) && existsSync(testFile)) return { file, testFile }
      const scaled = `${stem}.all`
      try {
        await rewrite(whole, scaled, await toUnitRange(whole))
        // Rows stand in the order of places, so a small set is drawn from everywhere.
        const step = size === 'small' ? 100 : 1
        await dealLines(scaled, [file, testFile], line => (line % step ? -1 : (line / step) % 10 === 9 ? 1 : 0))
      } finally {
        await rm(scaled, { force: true })
      }
      return { file, testFile }
    },
  },
}

/** The set on disk, ready to train on; made on first use. */
export async function prepareData(name: string, size: Size): Promise<PreparedData> {
  const set = dataSets[name]
  if (!set) throw new Error(`no data set "${name}"; there are ${Object.keys(dataSets).join(', ')}`)
  const { kind, values, about } = set
  const files = await set.prepare(size)
  return { name, kind, values, about, ...files, bytes: (await stat(files.file)).size }
}

interface RealOptions extends Pick<PreparedData, 'values' | 'about'> {
  test?: string
  /** What is done to each row; seen from the training file, so that a test file is treated alike. */
  change?: (trainingFile: string) => Promise<RowChange>
  /** Tells files with this change from those of another set with the same source. */
  ending?: string
  /** Whether small runs have the first few thousand rows only. */
  cut?: boolean
}

function real(source: string, { values, about, test, change, ending = 'prepared', cut }: RealOptions): DataSet {
  return {
    kind: 'real',
    source,
    values,
    about,
    async prepare(size) {
      const find = async (name: string): Promise<string> => {
        const whole = await decompressed(name)
        if (!cut || size !== 'small') return whole
        const beginning = `${whole}.first${SMALL_ROWS}`
        if (!existsSync(beginning)) await dealLines(whole, [beginning], line => (line < SMALL_ROWS ? 0 : -1))
        return beginning
      }
      const file = await find(source)
      const testFile = test && (await find(test))
      if (!change) return { file, testFile }
      const rowChange = await change(file)
      const changed = async (from: string): Promise<string> => {
        const to = `${from}.${ending}`
        if (!existsSync(to)) await rewrite(from, to, rowChange)
        return to
      }
      return { file: await changed(file), testFile: testFile && (await changed(testFile)) }
    },
  }
}

/** Deformed digits as mnist8m has them: 1 against the rest. */
function digitOne(rows: number): DataSet {
  return {
    ...{ kind: 'generated', values: 'text' },
    about: `${rows.toLocaleString('en')} deformed digits, 1 against the rest, grey levels from 0 to 1`,
    async prepare(size) {
      const count = size === 'small' ? rows / SMALL_SHARE : rows
      const stem = join(cacheFolder, `mnist8m-${count}-rows-seed${SEED}`)
      const [file, testFile] = [`${stem}.digit-1.svm`, `${stem}.digit-1.test.svm`]
      if (existsSync(file) && existsSync(testFile)) return { file, testFile }
      await mkdir(cacheFolder, { recursive: true })
      const [all, testAll] = [`${stem}.part.svm`, `${stem}.part.test.svm`]
      try {
        const testRows = Math.min(TEST_ROWS, count)
        await spillway.generate(all, { like: 'mnist8m', size: { rows: count }, seed: SEED, test: testAll, testRows })
        await rewrite(testAll, testFile, against(1))
        await rewrite(all, file, against(1))
      } finally {
        for (const left of [all, testAll]) await rm(left, { force: true })
      }
      return { file, testFile }
    },
  }
}

/** Two classes that lie apart: few rows support a model. */
function apart(rows: number): DataSet {
  return {
    ...{ kind: 'generated', values: 'dense' },
    about: `${rows.toLocaleString('en')} rows of 5 features, classes well apart but for 5 % of the rows`,
    async prepare(size) {
      const count = size === 'small' ? rows / SMALL_SHARE : rows
      const stem = join(cacheFolder, `apart-${count}-rows-seed${SEED}`)
      const [file, testFile] = [`${stem}.svm`, `${stem}.test.svm`]
      if (!existsSync(file)) await writeApart(file, count, SEED)
      if (!existsSync(testFile)) await writeApart(testFile, Math.min(TEST_ROWS, count), SEED + 1)
      return { file, testFile }
    },
  }
}

async function decompressed(name: string): Promise<string> {
  const to = join(cacheFolder, name)
  if (existsSync(to)) return to
  const from = join(dataFolder, `${name}.zst`)
  if (!existsSync(from)) {
    throw new DataMissing(`there is no ${name}.zst in ${dataFolder}; SPILLWAY_DATA names the folder of the real data`)
  }
  await decompress(from, to)
  return to
}

function generated(
  like: string,
  values: PreparedData['values'],
  about: string,
  sizes: Record<Size, string> = GENERATED_SIZE,
  { features, testRows }: { features?: number; testRows?: number } = {},
): DataSet {
  return {
    kind: 'generated',
    values,
    about,
    async prepare(size) {
      const stem = join(cacheFolder, `${like}-${sizes[size]}${features ? `-${features}-features` : ''}-seed${SEED}`)
      const [file, testFile] = [`${stem}.svm`, `${stem}.test.svm`]
      if (existsSync(file) && existsSync(testFile)) return { file, testFile }
      if (!(await spillway.has('generate'))) {
        throw new DataMissing(`spillway generate, which makes it, is not there: ${spillway.howToInstall}`)
      }
      await mkdir(cacheFolder, { recursive: true })
      const [part, testPart] = [`${stem}.part.svm`, `${stem}.part.test.svm`]
      try {
        await spillway.generate(part, { like, size: sizes[size], seed: SEED, test: testPart, testRows, features })
        await rename(testPart, testFile)
        await rename(part, file)
      } finally {
        for (const left of [part, testPart]) await rm(left, { force: true })
      }
      return { file, testFile }
    },
  }
}
