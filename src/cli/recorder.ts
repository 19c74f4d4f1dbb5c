// --record and --report: what a run tells goes into a file of records as it comes, and at the end into a page of charts.
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { isEnding, SpillwayError, wordsOf } from '../errors.ts'
import { writeAtomically } from '../files/atomic-file.ts'
import { scarceMemory } from '../machine-memory.ts'
import type { Model } from '../model/model.ts'
import type { PredictResult } from '../predict/predict.ts'
import type { ReportContent } from '../report/html.ts'
import { RecordFile, readLines } from '../report/record-file.ts'
import { RECORD_FORMAT, type ResultFields, type RunLine, type RunRecord, type Verb } from '../report/records.ts'
import { Thinning } from '../report/thinning.ts'
import { DEFAULTS } from '../train/options.ts'
import type { Progress, ProgressListener, RowsProgress } from '../train/progress.ts'
import type { TrainResult } from '../train/training-run.ts'
import type { Tuning } from '../train/tune.ts'
import type { CrossValidation } from '../train/validation.ts'
import { version } from '../version.ts'
import { recordedName } from './format.ts'

/** What a run is about. */
export interface RunToRecord {
  verb: Verb
  /** The words of the command line behind `spillway`. */
  words: string[]
  data: string[]
  /** The data that models are tested on. */
  test?: string | undefined
  /** By their names in the library. */
  settings: { labels?: string | undefined }
  /** Whether it goes on with an earlier run, whose records are kept. */
  resumes?: boolean
  /** Says what went wrong, where the run need not end for it. */
  warn(text: string): void
}

/** Settings that every report shows, said or not. */
const ALWAYS = ['loss', 'regularizer', 'cost', 'solver', 'tolerance'] as const

export class Recorder {
  readonly #file: RecordFile | undefined
  readonly #report: string | undefined
  /** For the report: those of an earlier part as well. */
  readonly #lines: RunLine[] = []
  readonly #thinning = new Thinning()
  readonly #warn: (text: string) => void
  readonly #test: string
  readonly #labels: string | undefined
  #failed = false
  /** Whether the last records are there, or about to be. */
  #ended = false
  /** Whether no more is written. A run that another rank has ended may still tell of itself. */
  #closed = false
  #rows: RowsProgress | undefined

  constructor(files: { record: string | undefined; report: string | undefined }, run: RunToRecord) {
    this.#warn = run.warn
    this.#test = run.test ?? ''
    this.#labels = run.settings.labels
    this.#report = files.report
    const earlier = run.resumes && files.record !== undefined ? earlierLines(files.record) : []
    this.#lines.push(...earlier)
    if (files.record !== undefined) this.#file = new RecordFile(files.record, { append: earlier.length > 0 })
    this.add(runRecord(run, earlier.length > 0))
  }

  /** A listener that records what it hears, and hands it on. */
  along(tell: ProgressListener): ProgressListener {
    return progress => {
      this.progress(progress)
      tell(progress)
    }
  }

  progress(progress: Progress): void {
    if (progress.stage === 'rows') this.#rows = progress
    if (progress.stage === 'test') {
      const { stage: _, ...test } = progress
      this.add({ record: 'test', data: this.#test, ...test })
      return
    }
    for (const kept of this.#thinning.take(progress)) this.add({ record: 'progress', ...kept })
  }

  /** A full disk ends the records, not the run. */
  add(line: RunLine): void {
    if (this.#closed) return
    if (this.#report !== undefined) this.#lines.push(line)
    if (this.#failed) return
    try {
      this.#file?.write(line)
    } catch (error) {
      if (!(error instanceof SpillwayError)) throw error
      this.#failed = true
      this.#warn(`the records end here: ${error.message}`)
    }
  }

  /** The last records, and the page. */
  async finish(lines: RunLine[]): Promise<void> {
    this.#ended = true
    for (const kept of this.#thinning.end()) this.add({ record: 'progress', ...kept })
    for (const line of lines) this.add(line)
    this.#closed = true
    this.#file?.close()
    if (this.#report !== undefined) await writeReport(this.#report, this.#lines)
  }

  /** The end of a run that an error has ended. One that was stopped, or whose reader has left, has not failed. */
  async failed(error: unknown): Promise<void> {
    if (this.#ended || isEnding(error)) return
    const { message, advice } = wordsOf(error)
    await this.finish([{ record: 'end', error: message, ...(advice !== undefined && { advice }) }]).catch(later => {
      this.#warn(`there is no report: ${wordsOf(later).message}`)
    })
  }

  /** The same for a run that has a model. */
  async finishTrained({ paths, result, json, trained, test }: Trained): Promise<void> {
    const { dataRecord, dataOfTraining, featuresRecord, testRecords } = await import('./run-records.ts')
    await this.finish([
      await dataRecord({ paths, labels: this.#labels }, dataOfTraining(result), this.#rows),
      ...(test ? testRecords(...test, { seconds: trained, pass: result.passes }) : []),
      featuresRecord(result.model),
      { record: 'result', ...json },
    ])
  }

  /** The same for costs that were tried; there may be no model. */
  async finishTuned(paths: string[], result: Tuning, json: ResultFields, test: Trained['test']): Promise<void> {
    const { final } = result
    if (!final) await this.finishFolds(paths, result, json)
    else await this.finishTrained({ paths, result: final, json, trained: final.seconds.total, test })
  }

  /** The same for predictions. */
  async finishPredicted(
    { path, format }: { path: string; format: string | undefined },
    model: Model,
    result: PredictResult,
    json: ResultFields,
  ): Promise<void> {
    const { evaluationRecord, featuresRecord, predictedDataRecord } = await import('./run-records.ts')
    const evaluation = evaluationRecord(path, result)
    await this.finish([
      await predictedDataRecord({ path, format, labels: this.#labels }, model, result),
      ...(evaluation ? [evaluation] : []),
      featuresRecord(model),
      { record: 'result', ...json },
    ])
  }

  /** The same for folds, which leave no model. */
  async finishFolds(paths: string[], result: CrossValidation, json: ResultFields): Promise<void> {
    const { dataRecord } = await import('./run-records.ts')
    const data = await dataRecord({ paths, labels: this.#labels }, result, this.#rows)
    await this.finish([data, { record: 'result', ...json }])
  }
}

/** What a run that trained has to tell at its end. */
export interface Trained {
  paths: string[]
  result: Pick<TrainResult, 'model' | 'rows' | 'features' | 'nonzeros' | 'passes'>
  json: ResultFields
  /** Seconds of training, without tests. */
  trained: number
  /** What the model was tested on, and what came of it. */
  test?: [string, PredictResult] | undefined
}

/** Of a run that is resumed: what was recorded before. A file that is not there, or has no line yet, has nothing. */
function earlierLines(path: string): RunLine[] {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return size === 0 ? [] : readLines(path)
}

/** One run as a page. */
export async function writeReport(path: string, lines: RunLine[]): Promise<void> {
  const { verb, data } = lines[0] as RunRecord
  const title = `Spillway: ${verb} ${data.map(file => basename(file)).join(' ')}`
  await writePage(path, title, { kind: 'run', runs: [{ name: basename(path), lines }] })
}

export async function writePage(path: string, title: string, content: ReportContent): Promise<void> {
  const { reportPage } = await import('../report/html.ts')
  const { pageAssets } = await import('../report/page-assets.ts')
  await writeAtomically(path, [Buffer.from(reportPage(title, content, await pageAssets()))])
}

function runRecord({ verb, words, data, settings }: RunToRecord, resumes: boolean): RunRecord {
  const said = Object.entries(settings).filter(([, value]) => isSaid(value))
  // A tune that is given no costs finds some: it has no cost of its own.
  const always = verb === 'predict' ? [] : ALWAYS.filter(name => verb !== 'tune' || name !== 'cost')
  const shown = always.map(name => [name, DEFAULTS[name]])
  const memory = verb === 'predict' ? undefined : scarceMemory()
  const { seed = DEFAULTS.seed, ...others } = Object.fromEntries([
    ...shown,
    ...(memory === undefined ? [] : [['memory', memory]]),
    ...said,
  ])
  return {
    ...{ record: 'run', format: RECORD_FORMAT, version, command: commandLine(words), verb },
    ...{ began: new Date().toISOString(), data: data.map(recordedName), settings: others, seed },
    ...(resumes && { resumes: true }),
  }
}

/** Values that say something, and that JSON can hold. */
function isSaid(value: unknown): boolean {
  if (value === undefined || typeof value === 'function') return false
  if (value === null || typeof value !== 'object') return true
  return Array.isArray(value) || Object.keys(value).length > 0
}

/** Words as a shell takes them. */
export function commandLine(words: readonly string[]): string {
  const quoted = words.map(word =>
    /^[\w@%+=:,./^~-]+$/.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", "'\\''")}'`,
  )
  return ['spillway', ...quoted].join(' ')
}
