// What a run leaves on record, one JSON object a line: its types, and how lines become a run again. Nothing here needs Node.
import { SpillwayError } from '../errors.ts'
import type { Progress } from '../train/progress.ts'
import { isKnownKind, misfitOf, shownText } from './record-shapes.ts'

/** Of the lines of a record file. A file of a later number may hold what is not known here. */
export const RECORD_FORMAT = 1

export type Verb = 'train' | 'tune' | 'cross-validate' | 'predict'

/** The first line; again where a run was resumed. */
export interface RunRecord {
  record: 'run'
  format: number
  /** Of Spillway. */
  version: string
  /** As it was typed, quoted for a shell: `spillway train …`. */
  command: string
  verb: Verb
  /** When it began, as ISO 8601 has it. */
  began: string
  /** The data that it read. */
  data: string[]
  /** Options by their names in the library, those that were given and those that stand for every run. */
  settings: Record<string, unknown>
  seed: number
  /** True when the records before this line are of the run that it goes on with. */
  resumes?: true
}

/** What a run told on its way: `stage` says what kind it is. Long runs are thinned out. */
export type ProgressRecord = { record: 'progress' } & Progress

/** Rows between two numbers: from the first on, below the second; of the last bin, the second as well. */
export interface Bin {
  from: number
  to: number
  count: number
}

export interface DataRecord {
  record: 'data'
  rows: number
  features: number
  /** Not told of data that was not trained on. */
  nonzeros?: number
  /** Rows of each label, the most frequent first, 50 at most. */
  labels: { label: string; rows: number }[]
  /** The labels that are not listed, and their rows. */
  otherLabels?: { labels: number; rows: number }
  /** Rows that nonzeros a row and values were counted on, when those are not all. */
  sampledRows?: number
  rowLengths?: Bin[]
  values?: { smallest: number; largest: number; bins: Bin[] }
}

/** A test on data that was not trained on: of the model at the end, or of that of the moment at the end of a pass. */
export interface TestRecord {
  record: 'test'
  /** Of training, when the model was as it was tested; tests take none of that time. */
  seconds: number
  /** Passes until then; not told by versions that tested at the end alone. */
  pass?: number
  data: string
  rows: number
  accuracy: number
  /** Seconds that the test itself took. */
  took?: number
}

/** How predictions compare with labels. Curves have 400 points at most. */
export interface EvaluationRecord {
  record: 'evaluation'
  data: string
  rows: number
  accuracy: number
  /** The class that curves are about; null unless there are two. */
  positive: string | null
  rocArea: number | null
  prArea: number | null
  logLoss: number | null
  /** Points [false positives, true positives], as shares of their classes. */
  roc?: [number, number][]
  /** Points [recall, precision]. */
  precisionRecall?: [number, number][]
  /** Rows by the probability that they were given for the positive class: its mean, and the share that was of the class. */
  calibration?: { predicted: number; observed: number; rows: number }[]
  /** counts[t][p]: rows of label t that were predicted as p; left out when there are too many labels to look at. */
  confusion?: { labels: string[]; counts: number[][] }
}

/** The weights that are largest by size. */
export interface FeaturesRecord {
  record: 'features'
  /** Weights that are not zero, and all of them. */
  nonzero: number
  all: number
  /** `label`: what a positive value of the feature speaks for; of three labels or more, whose weights these are. */
  features: { name: string; weight: number; label: string }[]
}

/** The fields that --json prints. */
export interface ResultFields {
  command: string
  [field: string]: unknown
}

export interface ResultRecord extends ResultFields {
  record: 'result'
}

/** The end of a run that has failed. */
export interface EndRecord {
  record: 'end'
  /** What went wrong, in the words that were printed, and what to do. */
  error: string
  advice?: string
}

export type RunLine =
  | RunRecord
  | ProgressRecord
  | DataRecord
  | TestRecord
  | EvaluationRecord
  | FeaturesRecord
  | ResultRecord
  | EndRecord

/** The records of one run, resumed or not, sorted by kind. Seconds count on where a run was resumed. */
export interface RunRecords {
  /** What the run is called where several are compared: the name of its file, say. */
  name: string
  run: RunRecord
  /** Where it went on, if it was resumed: the commands, and the seconds that had passed. */
  resumed: { run: RunRecord; seconds: number }[]
  progress: ProgressRecord[]
  data?: DataRecord
  tests: TestRecord[]
  evaluation?: EvaluationRecord
  features?: FeaturesRecord
  result?: ResultRecord
  /** Of a run that has failed, and was not resumed since. */
  end?: EndRecord
}

/** The progress of one stage, in order. */
export function stageOf<S extends Progress['stage']>(
  { progress }: Pick<RunRecords, 'progress'>,
  stage: S,
): Extract<Progress, { stage: S }>[] {
  return progress.filter(one => one.stage === stage) as Extract<ProgressRecord, { stage: S }>[]
}

/** The lines of a record file. One that a killed run left half written, at the end, is left out. */
export function parseRecords(text: string, name: string): RunLine[] {
  const lines = text.split('\n')
  // What follows the last line break is a line that was not finished.
  lines.pop()
  const records = lines.flatMap((line, k) => (line.trim() === '' ? [] : parseLine(line, `${name}, line ${k + 1}`)))
  if (records.length === 0)
    throw new SpillwayError(`${name} has no records`, 'name a file that --record FILE.jsonl has written')
  if (records[0].record !== 'run') {
    throw new SpillwayError(
      `${name}, line 1: a record "run" was expected, and it is "${records[0].record}"`,
      'name a file that --record FILE.jsonl has written, from its first line on',
    )
  }
  return records
}

/** One line; none when it is of a kind that a later version may know. */
export function parseLine(line: string, place: string): RunLine[] {
  let found: unknown
  try {
    found = JSON.parse(line)
  } catch {
    throw new SpillwayError(`${place}: a record is expected, and this is no JSON: ${shownText(line)}`, ADVICE)
  }
  const fields = typeof found === 'object' && !Array.isArray(found) ? (found as Record<string, unknown> | null) : null
  const record = fields?.['record']
  if (!fields || typeof record !== 'string')
    throw new SpillwayError(`${place}: it has no "record", the kind of the line: ${shownText(line)}`, ADVICE)
  if (!isKnownKind(record)) return []
  const { format } = fields
  if (record === 'run' && typeof format === 'number' && format !== RECORD_FORMAT) {
    throw new SpillwayError(
      `${place}: the records are of format ${format}; this version reads format ${RECORD_FORMAT}`,
      'take the version of Spillway that wrote them, or a newer one',
    )
  }
  const misfit = misfitOf(record, fields)
  if (misfit) {
    const { field, found, expected } = misfit
    throw new SpillwayError(`${place}: "${field}" of a record "${record}" is ${found}; expected: ${expected}`, ADVICE)
  }
  return [found as RunLine]
}

const ADVICE = 'each line is one record, as --record FILE.jsonl writes them'

/** Sorts records by kind. The first must be a run. */
export function collectRecords(lines: readonly RunLine[], name: string): RunRecords {
  const [first] = lines
  if (first?.record !== 'run') throw new SpillwayError(`${name} does not begin with a record "run"`, ADVICE)
  const found: RunRecords = { name, run: first, resumed: [], progress: [], tests: [] }
  let [offset, last] = [0, 0]
  for (const line of lines.slice(1)) addRecord(line)
  return found

  function later(seconds: number): number {
    last = Math.max(last, offset + seconds)
    return offset + seconds
  }

  function addRecord(line: RunLine): void {
    if (line.record === 'run') {
      offset = last
      found.resumed.push({ run: line, seconds: offset })
      delete found.end
    } else if (line.record === 'progress') {
      found.progress.push('seconds' in line ? { ...line, seconds: later(line.seconds) } : line)
    } else if (line.record === 'test') found.tests.push({ ...line, seconds: later(line.seconds) })
    else if (line.record === 'data') found.data = line
    else if (line.record === 'evaluation') found.evaluation = line
    else if (line.record === 'features') found.features = line
    else if (line.record === 'result') found.result = line
    else if (line.record === 'end') found.end = line
  }
}
