// spillway inspect: what is in a data file, a block store or a model.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore, type Store } from '../block-store/reader.ts'
import { fileError, SpillwayError, UsageError } from '../errors.ts'
import { expansionFor } from '../features/expansion-steps.ts'
import { fileHead } from '../files/file-head.ts'
import { findInputFormat, readsFiles } from '../input-formats/all-input-formats.ts'
import { nameLabels } from '../input-formats/named-labels.ts'
import { allModelFormats } from '../model/all-model-formats.ts'
import { loadModel } from '../model/files.ts'
import type { Model } from '../model/model.ts'
import { Arena } from '../numeric/arena.ts'
import { planLines } from '../optimise/sources/memory-plan.ts'
import type { DataSummary, ScanOptions } from '../rows/scan.ts'
import { schemaLines } from '../tables/describe-schema.ts'
import { resolveOptions } from '../train/options.ts'
import { checkData, checkOutputs } from './check-files.ts'
import {
  type Command,
  type CommandInput,
  memoryOption,
  numberOption,
  type OptionValues,
  textOption,
} from './command.ts'
import { describeIndex } from './describe-index.ts'
import { describeStore } from './describe-store.ts'
import { bytesOfLetters, formatBytes, formatCount, sourceName } from './format.ts'
import { describeModel } from './inspect-model.ts'
import { print } from './print.ts'
import { labelsOption, readingOptions } from './reading-options.ts'
import { tableOptions, tableOptionsOf } from './table-options.ts'
import { ProgressLine, readingText } from './terminal.ts'

export const inspectCommand: Command = {
  name: 'inspect',
  takes: 'DATA…|STORE|MODEL',
  count: [1, Number.POSITIVE_INFINITY],
  asksAboutMemory: true,
  options: {
    top: {
      value: 'N',
      help: 'of a model: the N weightiest features of each class',
      fallback: '10 in all',
      group: 'Output',
    },
    data: {
      value: 'FILE',
      help: 'of a model: read text or a store, and show what a step of one standard deviation of each feature does',
      group: 'Output',
    },
    memory: { value: 'SIZE', help: 'of a store: show how it would be trained on in so much memory', group: 'Output' },
    expand: {
      value: 'STEPS',
      help: 'of a store: the same for rows that are expanded, e.g. by polynomial:2',
      group: 'Output',
    },
    verify: { help: 'of a store: read it all and check every checksum', group: 'Output' },
    json: { help: 'print one line of JSON', group: 'Output' },
    quiet: { short: 'q', help: 'show no progress', group: 'Output' },
    ...labelsOption,
    ...readingOptions,
    ...tableOptions,
  },
  examples: [
    { line: 'spillway inspect reviews.svm', does: 'rows, features, labels and the range of the values' },
    { line: 'spillway inspect reviews.svm.model --top 20', does: 'the certificate and the 20 weightiest features' },
    {
      line: 'spillway inspect reviews.svm.model --top 20 --data reviews.svm',
      does: 'the 20 features whose steps of one standard deviation change the score most',
    },
    {
      line: 'spillway inspect reviews.spill --memory 512M',
      does: 'the plan: what stays in memory, what is read in turns',
    },
    {
      line: 'spillway inspect acceptors.spill --memory 256M --expand weighted-degree:8',
      does: 'the plan for rows that are expanded; reads the store once',
    },
    { line: 'spillway inspect reviews.spill --verify', does: 'rows, blocks and labels, every checksum checked' },
  ],
  run: runInspect,
}

async function runInspect(input: CommandInput): Promise<number> {
  const { arguments: paths, options } = input
  const isData = paths.length > 1 || paths[0] === '-' || !readsFiles(textOption(options, 'format'))
  const kind = isData ? 'data' : await kindOf(paths[0])
  await checkOutputs({ reads: paths })
  const show = async (lines: string[], json: object): Promise<number> => {
    await print(options['json'] ? JSON.stringify({ command: 'inspect', kind, ...json }) : lines.join('\n'))
    return 0
  }
  refuseMisplaced(kind, options)
  if (kind === 'model') {
    const top = numberOption(options, 'top', { least: 0, whole: true })
    const model = await loadModel(paths[0])
    const described = describeModel(model, paths[0], { top, deviations: await readDeviations(model, input) })
    return show(described.lines, described.json)
  }
  if (kind === 'store') {
    const store = await openStore(paths[0])
    const verified = options['verify'] === true
    if (verified) {
      const { problems } = await store.verify(new Arena(), { decode: true })
      if (problems.length > 0) {
        for (const problem of problems.slice(1)) process.stderr.write(`spillway: ${problem.message}\n`)
        throw problems[0]
      }
    }
    const { readStoredNames } = await import('../block-store/stored-names.ts')
    const named = (await readStoredNames(paths[0]))?.length
    const described = describeStore(store.manifest, paths[0], { verified, named })
    const plan = await planOrRefusal(store, memoryOption(options), textOption(options, 'expand'))
    const index = await describeIndex(store, verified)
    return show([...described.lines, ...index.lines, ...plan.lines], {
      ...{ ...described.json, ...index.json },
      plan: plan.json,
    })
  }
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const { scanData } = await import('../rows/scan.ts')
  using _ = nameLabels(paths, textOption(options, 'labels'))
  const summary = await scanData(paths, {
    ...scanOptions(options),
    ...tableOptionsOf(options),
    signal: input.signal,
    progress: progress => line.show(readingText(progress)),
  }).finally(() => line.clear())
  const { badRowMessages, ...json } = summary
  return show(describeData(paths, summary), json)
}

/** Of a model's features, where data is named. */
async function readDeviations(model: Model, { options, signal }: CommandInput): Promise<Float64Array | undefined> {
  const data = textOption(options, 'data')
  if (data === undefined) return undefined
  await checkData([data], textOption(options, 'format') ?? model.inputFormat)
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const { deviationsOf } = await import('../predict/deviations.ts')
  const { values } = await deviationsOf(data, model, {
    ...scanOptions(options),
    labels: textOption(options, 'labels'),
    signal,
    progress: progress => line.show(readingText(progress)),
  }).finally(() => line.clear())
  return values
}

function scanOptions(options: OptionValues): Pick<ScanOptions, 'format' | 'indexBase' | 'onBadRow' | 'threads'> {
  return {
    format: textOption(options, 'format'),
    indexBase: numberOption(options, 'index-base'),
    onBadRow: textOption(options, 'on-bad-row') as 'fail' | 'skip' | undefined,
    threads: numberOption(options, 'threads', { least: 1, most: 256, whole: true }),
  }
}

/** Options that would be ignored are refused. */
function refuseMisplaced(kind: 'data' | 'store' | 'model', options: OptionValues): void {
  const only: Record<string, string> = {
    top: 'model',
    data: 'model',
    verify: 'store',
    memory: 'store',
    expand: 'store',
    format: 'data',
    labels: 'data',
    'index-base': 'data',
    'on-bad-row': 'data',
    ...Object.fromEntries(Object.keys(tableOptions).map(name => [name, 'data'])),
  }
  // Data that a model is looked at with is read as any.
  const reads = kind === 'data' || options['data'] !== undefined
  for (const [option, meant] of Object.entries(only)) {
    if (options[option] !== undefined && (meant === 'data' ? !reads : kind !== meant)) {
      throw new UsageError(
        `--${option} is for a ${meant === 'data' ? 'file of data' : meant}, and this is a ${kind === 'data' ? 'file of data' : kind}`,
      )
    }
  }
}

/** The plan. Who named nothing that it is for wants to know what the store is: where this machine has too little memory for
 *  training, that is one of the facts. */
async function planOrRefusal(
  store: Store,
  memory: number | undefined,
  expand: string | undefined,
): Promise<{ lines: string[]; json: object }> {
  try {
    return await storePlan(store, memory, expand)
  } catch (error) {
    if (!(error instanceof SpillwayError) || memory !== undefined || expand !== undefined) throw error
    const [first, ...others] = [...error.message.split('\n'), ...(error.advice === undefined ? [] : [error.advice])]
    return {
      lines: [`training    ${first}`, ...others.map(line => `            ${line.trim()}`)],
      json: { refused: error.message, ...(error.advice !== undefined && { advice: error.advice }) },
    }
  }
}

/** How the store would be trained on: hinge loss, the solver that `auto` takes, and what memory goes where. */
async function storePlan(
  store: Store,
  memory: number | undefined,
  expand: string | undefined,
): Promise<{ lines: string[]; json: object }> {
  const { chooseSolver } = await import('../train/choose-solver.ts')
  const { planOfStore } = await import('../train/foresee.ts')
  const options = resolveOptions({ memory, expand })
  const { solver, reason } = await chooseSolver([store.folder], options)
  const head = `training    solver ${solver.name}: ${reason}`
  if (solver.data === 'memory') return { lines: [head], json: { solver: solver.name } }
  const planned = await planOfStore(store, solver, options)
  const { plan, split } = planned
  const name = planned.solver.name
  const { parts, slots, slotBytes, slotRows, cacheBytes } = plan
  return {
    lines: [
      `training    solver ${name}: ${reason}`,
      ...(split === undefined
        ? []
        : [`            its blocks are too large: training splits them into ${split} first`]),
      ...planLines(parts, plan.memory).map(line => `            ${line}`),
    ],
    json: {
      ...{ solver: name, memory: plan.memory, parts, slots, slotBytes, slotRows, cacheBytes },
      ...(split !== undefined && { splitInto: split }),
    },
  }
}

async function kindOf(path: string): Promise<'data' | 'store' | 'model'> {
  try {
    const found = await stat(path)
    if (found.isDirectory()) return 'store'
    const head = await fileHead(path)
    return allModelFormats.some(format => format.read && format.detect(head)) ? 'model' : 'data'
  } catch (error) {
    throw fileError(error, join(path), 'read')
  }
}

function describeData(paths: string[], data: DataSummary): string[] {
  const { rows, nonzeros, features, labels } = data
  const perRow = rows > 0 ? nonzeros / rows : 0
  const shown = labels.slice(0, 20)
  const lines = [
    `${paths.map(sourceName).join(', ')}: ${findInputFormat(data.format).title}, ${formatBytes(data.bytes)}${paths.includes('-') ? '' : ' on disk'}`,
    `rows       ${formatCount(rows)}${data.emptyRows > 0 ? `, ${formatCount(data.emptyRows)} of them without a nonzero` : ''}`,
    `features   ${formatCount(features)}, counted from ${data.indexBase}`,
    `nonzeros   ${formatCount(nonzeros)}: ${perRow.toFixed(1)} a row, ${formatCount(data.longestRow)} at most` +
      (features > 0 && rows > 0 ? `, density ${((100 * perRow) / features).toPrecision(3)} %` : ''),
    ...(data.schema ? ['columns', ...schemaLines(data.schema)] : []),
    ...(nonzeros > 0 ? [`values     from ${data.smallest} to ${data.largest}`] : []),
    `labels     ${labels.length}`,
    ...shown.map(label => `           ${label.text.padEnd(10)} ${formatCount(label.rows)} rows`),
    ...(labels.length > shown.length ? [`           and ${formatCount(labels.length - shown.length)} more`] : []),
  ]
  if (data.badRows > 0) {
    lines.push(
      `bad rows   ${formatCount(data.badRows)}; the first:`,
      ...data.badRowMessages.map(message => `  ${message}`),
    )
  }
  const spread = Math.max(Math.abs(data.smallest), Math.abs(data.largest))
  const expand = expansionFor(findInputFormat(data.format), undefined)
  if (expand !== undefined) lines.push(`hint       ${bytesOfLetters(expand)}`)
  else if (nonzeros > 0 && spread > 100 && !data.schema)
    lines.push('hint       the values are large: --scale minmax or --normalize unit will make training faster')
  return lines
}
