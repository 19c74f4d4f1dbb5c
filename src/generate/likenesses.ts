// The data sets that `spillway generate --like` imitates, one entry each: rows, features, nonzeros a row, skew, class
// balance and noise. Adding a set is adding an entry.
//
// Tilt and noise were set so that a linear SVM with C = 1 reaches about the accuracy that the real set is known for; for
// visual-words, which is like the sets of images that additive kernels are tried on, 71 % after 3,000 rows, 84 % after
// 20,000 (to a gap of 0.1). A linear SVM tells 91.8 % of the digits of mnist8m apart after 20,000 rows. The settings of
// visual-words were chosen among a few such that linear training on roots of the values does clearly better: what a
// kernel gains there is made, not found.

/** A range of features from which every row draws. */
export interface Group {
  /** Numbers it spans. Widths are relative: a data set's features are shared out in proportion. */
  width: number
  /** Mean distinct features of a row. */
  nonzeros: number
  /** Standard deviation of the logarithm of a row's length. */
  spread?: number
  /** The feature of rank r is drawn with probability ∝ (r + plateau)^−skew. */
  skew: number
  plateau?: number
  /** Scatters ranks over the range, for features that are numbered by their names; without it, frequent ones come
   *  first, as when features are numbered in order of appearance. */
  scatter?: {
    /** Neighbouring numbers in use, then a gap. */
    run: number
    /** Share of the range that is in use. */
    used: number
  }
}

export interface SparseShape {
  kind: 'sparse'
  /** What stands behind the colon: unit-length counts, unit-length 1 + log(count), counts divided by the largest of the
   *  row, or 1. */
  values: 'counts' | 'log-counts' | 'counts-by-largest' | 'ones'
  groups: Group[]
  /** Share of the features that tell the classes apart. */
  telling: number
  /** Share of the draws that repeat an earlier draw of the row: where there is one brick, there are many. */
  burst?: number
}

export interface DenseShape {
  kind: 'dense'
  /** Numbers of a unit-length row, grey levels k/255 in (0, 1], or whole numbers from 1 to 255. */
  values: 'unit' | 'levels' | 'whole'
  /** Correlation between neighbouring features. */
  correlation: number
  /** Whether the tilt counts standard deviations along the best direction. The hidden weights of many features are much alike
   *  for all seeds; of a few they are not, and some would tell the classes apart by far better than others. */
  alongBest?: true
}

/** Small pictures of what a class looks like, deformed. The features are the pixels of a square. */
export interface DrawnShape {
  kind: 'drawn'
  /** Grey levels k/255 in (0, 1]. */
  values: 'levels'
  /** Mean entries of a row, to plan with. */
  nonzeros: number
}

/** A column of whole numbers, log-normal and cut down to the next whole one. */
export interface NumberColumn {
  median: number
  /** Standard deviation of the logarithm. */
  spread: number
  /** What is taken off each number, for columns that go below 0. */
  least?: number
  /** Share of cells that are missing. */
  missing?: number
}

/** A column of names, each eight hexadecimal digits. */
export interface NameColumn {
  /** How many there are. */
  names: number
  /** The name of rank r is drawn with probability ∝ (r + 1)^−skew. */
  skew: number
  missing?: number
}

/** Rows of a table without a header: tabs between the cells, the label in the first one. */
export interface TableShape {
  kind: 'table'
  /** Share of the names that tell the classes apart. */
  telling: number
  columns: (NumberColumn | NameColumn)[]
}

export interface Likeness {
  /** What the real set is, for the help page. */
  about: string
  /** Rows of the real set. */
  rows: number
  /** Whether so many rows are made when neither rows nor a size are asked for; otherwise it is 1 GiB. */
  asManyRows?: true
  /** Or the columns of a table. */
  features: number
  /** Labels 1 to so many, equally frequent; without it, the labels are −1 and +1, of a table 0 and 1. */
  classes?: number
  /** Share of rows labelled +1, or, of more classes, 1. */
  positive: number
  /** Share of labels that are wrong. */
  noise: number
  /** How far the hidden class moves a row: for sparse rows the probability that a feature gives way to its twin of the
   *  other class, for dense rows a distance in standard deviations, for drawn ones how strongly they are deformed. */
  tilt: number
  /** From 0, every row is moved in full, to 1, by anything down to nothing: more rows near the border. */
  hardness: number
  shape: SparseShape | DenseShape | DrawnShape | TableShape
}

/** Numbers of the columns of criteo, and names, with their missing cells; about as they are told of the real set. */
const CRITEO_NUMBERS: NumberColumn[] = [
  { median: 1, spread: 1.2, missing: 0.45 },
  { median: 5, spread: 2.2, least: 2 },
  { median: 6, spread: 1.5, missing: 0.21 },
  { median: 4, spread: 1.1, missing: 0.22 },
  { median: 2800, spread: 1.9, missing: 0.026 },
  { median: 32, spread: 1.6, missing: 0.22 },
  { median: 3, spread: 1.6, missing: 0.043 },
  { median: 7, spread: 1.1, missing: 0.0005 },
  { median: 38, spread: 1.4, missing: 0.043 },
  { median: 0.9, spread: 0.5, missing: 0.45 },
  { median: 1.5, spread: 1, missing: 0.043 },
  { median: 0.6, spread: 0.9, missing: 0.77 },
  { median: 4, spread: 1.2, missing: 0.22 },
]
const CRITEO_NAMES: [names: number, missing?: number][] = [
  [1460],
  [583],
  [10_131_226, 0.034],
  [2_202_608, 0.034],
  [305],
  [24, 0.12],
  [12_517],
  [633],
  [4],
  [93_145],
  [5683],
  [8_351_592, 0.034],
  [3194],
  [27],
  [14_992],
  [5_461_306, 0.034],
  [10],
  [5652],
  [2173, 0.44],
  [4, 0.44],
  [7_046_546, 0.034],
  [18, 0.76],
  [15],
  [286_181, 0.034],
  [105, 0.44],
  [142_572, 0.44],
]

export const likenesses: Record<string, Likeness> = {
  webspam: {
    about: 'web pages as counts of three characters: long sparse rows',
    rows: 350_000,
    features: 16_609_143,
    positive: 0.61,
    noise: 0.002,
    tilt: 0.55,
    hardness: 0.8,
    shape: {
      kind: 'sparse',
      values: 'counts',
      telling: 0.3,
      // Of the 255^3 trigrams those of some 88 printable characters occur: runs of 88, then a gap.
      groups: [{ width: 1, nonzeros: 3728, spread: 0.7, skew: 1.05, plateau: 40, scatter: { run: 88, used: 0.041 } }],
    },
  },
  'yahoo-korea': {
    about: 'web documents as words: sparse rows',
    rows: 460_554,
    features: 3_052_939,
    positive: 0.5,
    noise: 0.04,
    tilt: 0.72,
    hardness: 1,
    shape: {
      kind: 'sparse',
      values: 'log-counts',
      telling: 0.36,
      groups: [{ width: 1, nonzeros: 339.7, spread: 0.9, skew: 1.0, plateau: 10, scatter: { run: 1, used: 1 } }],
    },
  },
  epsilon: {
    about: 'an artificial set: every value present, unit-length rows',
    rows: 500_000,
    features: 2_000,
    positive: 0.5,
    noise: 0.03,
    tilt: 1.5,
    hardness: 0,
    shape: { kind: 'dense', values: 'unit', correlation: 0 },
  },
  kddb: {
    about: 'exercises of pupils, one-hot and conjunctions: every value 1',
    rows: 19_264_097,
    features: 29_890_095,
    positive: 0.86,
    noise: 0.045,
    tilt: 0.65,
    hardness: 0.6,
    shape: {
      kind: 'sparse',
      values: 'ones',
      telling: 0.5,
      // Columns of a log, from the pupil to the exercise's steps, then their conjunctions, which make up the width.
      groups: [
        { width: 6_043, nonzeros: 1, skew: 0.4 },
        { width: 50, nonzeros: 1, skew: 0.9 },
        { width: 186, nonzeros: 1, skew: 0.9 },
        { width: 52_754, nonzeros: 1, skew: 0.9, plateau: 5 },
        { width: 1_259_272, nonzeros: 1, skew: 0.95, plateau: 2 },
        { width: 12, nonzeros: 1, skew: 1.5 },
        { width: 1_824, nonzeros: 2.2, spread: 0.5, skew: 1.2, plateau: 3 },
        { width: 400, nonzeros: 2.2, spread: 0.4, skew: 1.6 },
        { width: 120_000, nonzeros: 1, skew: 0.5 },
        { width: 410_000, nonzeros: 1, skew: 0.6 },
        { width: 3_400_000, nonzeros: 1, skew: 0.7 },
        { width: 9_000_000, nonzeros: 1, skew: 1.05, plateau: 10 },
        { width: 40_000, nonzeros: 2, spread: 0.5, skew: 1.25, plateau: 3 },
        { width: 300_000, nonzeros: 2.5, spread: 0.6, skew: 1.2, plateau: 5 },
        { width: 1_800_000, nonzeros: 3, spread: 0.6, skew: 1.15, plateau: 5 },
        { width: 2_500_000, nonzeros: 3.5, spread: 0.7, skew: 1.2, plateau: 3 },
        { width: 10_999_554, nonzeros: 4, spread: 0.8, skew: 1.1, plateau: 5 },
      ],
    },
  },
  clicks: {
    about: 'clicks on advertisements, one-hot: short rows, every value 1',
    rows: 800_000,
    features: 485_000,
    positive: 0.3,
    noise: 0.05,
    tilt: 0.5,
    hardness: 0.8,
    shape: {
      kind: 'sparse',
      values: 'ones',
      telling: 0.5,
      // Columns of a log: a few with few values, some with many.
      groups: [
        { width: 40, nonzeros: 8, skew: 0.8 },
        { width: 2_000, nonzeros: 6, skew: 0.9, plateau: 3 },
        { width: 80_000, nonzeros: 5, skew: 0.9, plateau: 10 },
        { width: 402_960, nonzeros: 4, skew: 0.7, plateau: 10 },
      ],
    },
  },
  connections: {
    about: 'network connections, counts and one-hot: few features, short rows',
    rows: 494_000,
    features: 118,
    positive: 0.2,
    noise: 0.01,
    tilt: 0.6,
    hardness: 0.5,
    shape: {
      kind: 'sparse',
      values: 'counts-by-largest',
      telling: 0.5,
      burst: 0.5,
      groups: [
        { width: 38, nonzeros: 9.5, skew: 0.6, plateau: 2 },
        { width: 80, nonzeros: 3, skew: 1.3 },
      ],
    },
  },
  ocr: {
    about: 'letters of 34 × 34 grey levels: every value present',
    rows: 3_500_000,
    features: 1_156,
    positive: 0.49,
    noise: 0.12,
    tilt: 0.8,
    hardness: 0.7,
    shape: { kind: 'dense', values: 'levels', correlation: 0.8 },
  },
  dna: {
    about: 'windows of 200 letters, four features a letter: every value 1, few positives',
    rows: 50_000_000,
    features: 800,
    positive: 0.003,
    noise: 0.001,
    tilt: 0.5,
    hardness: 0.5,
    shape: {
      kind: 'sparse',
      values: 'ones',
      telling: 0.5,
      groups: Array.from({ length: 200 }, () => ({ width: 4, nonzeros: 1, skew: 0.1, plateau: 1 })),
    },
  },
  skin: {
    about: 'colours of pixels, skin or not: 3 features that are not scaled, whole numbers up to 255',
    rows: 245_000,
    asManyRows: true,
    features: 3,
    positive: 0.2,
    noise: 0.01,
    tilt: 1.3,
    hardness: 0,
    shape: { kind: 'dense', values: 'whole', correlation: 0.9, alongBest: true },
  },
  mnist8m: {
    about: 'digits of 28 × 28 grey levels, written by hand and deformed, 10 classes (the class 10 is the digit 0)',
    rows: 8_100_000,
    features: 784,
    classes: 10,
    positive: 0.1,
    noise: 0.003,
    tilt: 1.6,
    hardness: 0.3,
    shape: { kind: 'drawn', values: 'levels', nonzeros: 128 },
  },
  'visual-words': {
    about: 'images as histograms of visual words, 100 classes: sparse rows of values in (0, 1]',
    rows: 126_000,
    features: 21_000,
    classes: 100,
    positive: 0.01,
    noise: 0.02,
    tilt: 0.8,
    hardness: 0.6,
    shape: {
      kind: 'sparse',
      values: 'counts-by-largest',
      telling: 0.6,
      burst: 0.4,
      // Words are numbered by clustering, in no order.
      groups: [{ width: 1, nonzeros: 300, spread: 0.3, skew: 1.2, plateau: 20, scatter: { run: 1, used: 1 } }],
    },
  },
  criteo: {
    about: 'clicks on advertisements, a table: 13 numbers and 26 columns of names, many missing, no header',
    rows: 45_840_617,
    features: 39,
    positive: 0.256,
    noise: 0.12,
    tilt: 0.3,
    hardness: 0.5,
    shape: {
      kind: 'table',
      telling: 0.5,
      columns: [...CRITEO_NUMBERS, ...CRITEO_NAMES.map(([names, missing = 0]) => ({ names, skew: 1.1, missing }))],
    },
  },
}
