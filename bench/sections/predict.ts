// Goal 12: text to labels, the same model for both programs.
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { PreparedData } from '../data.ts'
import { evaluateFiles } from '../evaluator.ts'
import { makeCold, measure, warm } from '../measure.ts'
import { liblinear } from '../peers/liblinear.ts'
import { spillway } from '../peers/spillway.ts'
import { reachedOf } from '../results.ts'
import { type Contestant, interleave, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'

const FASTER = 10
/** Bytes of text from which on the training file is predicted: the goal is about such files. */
const LARGE = 400e6

export async function predictSection(context: SuiteContext, names: string[]): Promise<Section> {
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'predict',
    title: 'Prediction: text to labels',
    goal: `${FASTER} times faster than liblinear-predict (goal 12).`,
    protocol: [
      'One hinge model, trained by Spillway; liblinear-predict reads it converted, so both use the same weights.',
      `On the training file from ${LARGE / 1e6} MB on, else on the test file where there is one; labels that differ are counted, and the accuracy is the evaluator’s.`,
      '“starting” is the time of `spillway --version`: on small files it is most of the time.',
    ],
    tables: [table],
    details: [],
    notes: [],
  }
  if (!(await spillway.has('predict'))) {
    context.skip('predict', `spillway predict is not there: ${spillway.howToInstall}`)
    return section
  }
  const withPeer = (await liblinear.version()) !== undefined
  for await (const data of context.data(names)) {
    try {
      const { row, details } = await measurePredict(context, data, withPeer)
      table.rows.push(row)
      section.details.push(details)
    } catch (error) {
      context.skip(`predict, ${data.name}`, error)
    }
  }
  section.notes.push(`Reached by ${reachedOf(table.rows, 'reached')}.`)
  return section
}

async function measurePredict(
  context: SuiteContext,
  data: PreparedData,
  withPeer: boolean,
): Promise<{ row: Record<string, Cell>; details: unknown }> {
  context.say(`predict ${data.name}`)
  const { workFolder, rounds, cold, limit, say } = context
  const file = data.bytes >= LARGE ? data.file : (data.testFile ?? data.file)
  const model = join(workFolder, `${data.name}-predict.model`)
  await spillway.train(data.file, { loss: 'hinge', cost: 1, model })
  const converted = await spillway.asLiblinear(model)
  const [{ accuracy, rows }] = await evaluateFiles(file, [converted], { loss: 'hinge', cost: 1 })
  const out = {
    ours: join(workFolder, `${data.name}.labels`),
    theirs: join(workFolder, `${data.name}.liblinear.labels`),
  }
  await warm(file)
  const contestant = (name: string, run: Contestant['run']): Contestant => ({
    name,
    run: async round => {
      if (cold) await makeCold(file)
      return run(round)
    },
  })
  const runs = await interleave(
    [
      ...(withPeer ? [contestant('LIBLINEAR', () => liblinear.predict(file, converted, out.theirs, { limit }))] : []),
      contestant('Spillway', () => spillway.predict(file, model, out.ours, { limit })),
      { name: 'starting', run: () => measure(spillway.versionCommand) },
    ],
    rounds,
    say,
  )
  const ours = timingOf(runs.get('Spillway')!)
  const theirs = withPeer ? timingOf(runs.get('LIBLINEAR')!) : undefined
  const starting = timingOf(runs.get('starting')!)
  const ratio = theirs && theirs.seconds / ours.seconds
  const differing = withPeer ? await countDifferences(out.ours, out.theirs) : undefined
  const row = {
    ...{ data: data.name, rows, accuracy, differing, starting: starting.seconds, ratio },
    ...{ liblinearSeconds: theirs?.seconds, liblinearSpread: theirs?.spread, liblinearMemory: theirs?.peakMemoryBytes },
    ...{ spillwaySeconds: ours.seconds, spillwaySpread: ours.spread, spillwayMemory: ours.peakMemoryBytes },
    // Other labels in less time would be no gain.
    reached: ratio === undefined ? undefined : ratio >= FASTER && differing === 0,
  }
  return {
    row,
    details: { data: data.name, onTestFile: data.testFile !== undefined, ours, theirs, starting, differing },
  }
}

/** Labels are compared as numbers: one program may write +1 where the other writes 1. */
async function countDifferences(a: string, b: string): Promise<number> {
  const lines = (file: string) => createInterface({ input: createReadStream(file) })[Symbol.asyncIterator]()
  const [left, right] = [lines(a), lines(b)]
  for (let differing = 0; ; ) {
    const [x, y] = [await left.next(), await right.next()]
    if (x.done && y.done) return differing
    if (x.done || y.done || Number(x.value) !== Number(y.value)) differing++
  }
}

const columns = {
  data: { title: 'data' },
  rows: { title: 'rows', show: 'count' },
  accuracy: { title: 'accuracy', show: 'share' },
  differing: { title: 'labels that differ', show: 'count' },
  liblinearSeconds: { title: 'LIBLINEAR s', show: 'seconds' },
  liblinearSpread: { title: 'spread', show: 'ratio' },
  spillwaySeconds: { title: 'Spillway s', show: 'seconds' },
  spillwaySpread: { title: 'spread', show: 'ratio' },
  starting: { title: 'starting s', show: 'seconds' },
  ratio: { title: 'faster', show: 'times' },
  liblinearMemory: { title: 'LIBLINEAR MB', show: 'megabytes' },
  spillwayMemory: { title: 'Spillway MB', show: 'megabytes' },
  reached: { title: `${FASTER}×?` },
} as const
