// spillway compare: runs side by side, by their records, as a table and as the figures that papers show.
import { basename } from 'node:path'
import { UsageError } from '../errors.ts'
import type { ComparedRun, Comparison } from '../report/compare-runs.ts'
import { checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, numberOption, textOption } from './command.ts'
import { formatCount, formatGap, formatObjective, formatSeconds, formatShare } from './format.ts'
import { print } from './print.ts'

export const compareCommand: Command = {
  name: 'compare',
  takes: 'RUN.jsonl…',
  count: [1, Number.POSITIVE_INFINITY],
  options: {
    out: {
      value: 'FILE.html',
      help: 'write a page with the figures: differences to the best objective and accuracy, against time',
      group: 'Output',
    },
    best: {
      value: 'NUMBER',
      help: 'the objective at the optimum, where it is known',
      fallback: 'the smallest one of the runs',
      group: 'Output',
    },
    json: { help: 'print one line of JSON', group: 'Output' },
  },
  examples: [
    {
      line: 'spillway compare dual.jsonl newton.jsonl --out compare.html',
      does: 'which solver comes closer to the optimum, and when',
    },
    {
      line: 'spillway compare a.jsonl b.jsonl --best 1234.5678',
      does: 'a table of both, against an optimum that is known',
    },
  ],
  notes:
    'RUN.jsonl is what --record has written. Objectives are compared, so runs should be of the same data, loss and cost: where they\n' +
    'differ, it is said. For accuracies, give the runs --test.',
  run: runCompare,
}

async function runCompare({ arguments: paths, options }: CommandInput): Promise<number> {
  const out = textOption(options, 'out')
  const best = numberOption(options, 'best')
  await checkOutputs({ reads: paths, writes: out === undefined ? [] : [out] })
  const { readLines } = await import('../report/record-file.ts')
  const { collectRecords } = await import('../report/records.ts')
  const { compareRuns } = await import('../report/compare-runs.ts')
  const named = namesOf(paths).map((name, k) => ({ name, lines: readLines(paths[k]) }))
  const comparison = compareRuns(
    named.map(({ name, lines }) => collectRecords(lines, name)),
    best,
  )
  if (comparison.best === undefined && comparison.bestAccuracy === undefined) {
    throw new UsageError('none of these runs has come to an objective or an accuracy', 'let one of them end first')
  }
  if (out !== undefined) {
    const { writePage } = await import('./recorder.ts')
    await writePage(out, `Spillway: ${named.length} runs compared`, { kind: 'compare', runs: named, best })
  }
  await print(options['json'] ? compareJson(comparison, out) : compareText(comparison, out).join('\n'))
  return 0
}

/** The names of files, or their paths where names are the same. */
function namesOf(paths: string[]): string[] {
  const names = paths.map(path => basename(path).replace(/\.jsonl$/, ''))
  return new Set(names).size === names.length ? names : paths
}

function compareJson({ runs, ...rest }: Comparison, out: string | undefined): string {
  const shown = runs.map(({ objective: _, accuracies: __, ...run }) => run)
  return JSON.stringify({ command: 'compare', ...rest, runs: shown, ...(out !== undefined && { out }) })
}

const COLUMNS: [string, (run: ComparedRun) => string | undefined][] = [
  ['run', run => run.name],
  ['solver', run => run.solver],
  ['time', run => (run.seconds === undefined ? undefined : formatSeconds(run.seconds))],
  ['passes', run => (run.passes === undefined ? undefined : formatCount(Math.ceil(run.passes - 1e-9)))],
  ['objective', run => (run.primal === undefined ? undefined : formatObjective(run.primal))],
  ['above best', run => (run.aboveBest === undefined ? undefined : formatGap(run.aboveBest))],
  ['gap', run => (run.gap === null ? undefined : formatGap(run.gap))],
  ['accuracy', run => (run.accuracy === undefined ? undefined : formatShare(run.accuracy))],
]

function compareText({ runs, best, given, differences }: Comparison, out: string | undefined): string[] {
  const columns = COLUMNS.filter(([, cell]) => runs.some(run => cell(run) !== undefined))
  const rows = [columns.map(([name]) => name), ...runs.map(run => columns.map(([, cell]) => cell(run) ?? '–'))]
  const widths = columns.map((_, k) => Math.max(...rows.map(row => row[k].length)))
  const isText = (k: number): boolean => k < 1 || columns[k][0] === 'solver'
  return [
    ...rows.map(row =>
      row
        .map((cell, k) => (isText(k) ? cell.padEnd(widths[k]) : cell.padStart(widths[k])))
        .join('  ')
        .trimEnd(),
    ),
    ...(best === undefined ? [] : [`best objective: ${formatObjective(best)}${given ? ', as given' : ''}`]),
    ...(differences.length > 0
      ? [`these runs solve different problems, so that their objectives cannot be compared: ${differences.join('; ')}`]
      : []),
    ...(out === undefined ? [] : [`figures: ${out}`]),
  ]
}
