// The head of a report: what came of the run, in a few large figures and a sentence.
import { allowedMemory } from '../charts/memory.ts'
import { bytesText, countText, gapText, numberText, secondsText, shareText } from '../charts/units.ts'
import { type RunRecords, stageOf } from '../records.ts'
import { isTruncated } from '../relaxed-points.ts'

export interface Fact {
  name: string
  value: string
  /** Below it, smaller. */
  note?: string | undefined
}

const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

function secondsOf(run: RunRecords): number | undefined {
  const told = run.result?.['seconds']
  const total = number(told) ?? number((told as { total?: unknown } | undefined)?.total)
  return total ?? (run.progress.findLast(one => 'seconds' in one) as { seconds: number } | undefined)?.seconds
}

/** As many as the run can tell. */
export function factsOf(run: RunRecords): Fact[] {
  const { result, evaluation, tests } = run
  const test = evaluation ?? tests.at(-1)
  const accuracy = test?.accuracy ?? number(result?.['accuracy'])
  const data = stageOf(run, 'rows').at(-1)
  const rows = number(result?.['rows']) ?? data?.rows
  const features = number(result?.['features']) ?? data?.features ?? run.data?.features
  const nonzeros = number(result?.['nonzeros']) ?? run.data?.nonzeros
  const seconds = secondsOf(run)
  // What the cap is about. Later, pages of the program's own file may be resident that the system can drop.
  const trained = stageOf(run, 'train').reduce((most, { memoryBytes }) => Math.max(most, memoryBytes), 0)
  const peak = trained > 0 ? trained : number(result?.['peakMemoryBytes'])
  const passes = number(result?.['passes'])
  const [gap, primal] = [number(result?.['gap']), number(result?.['primal'])]
  const allowed = allowedMemory(run)
  const relaxed = isTruncated(run)
  const best = result?.['best'] as { cost: number; accuracy: number } | undefined
  const found: (Fact | false | undefined)[] = [
    best && { name: 'Best cost', value: numberText(best.cost), note: `${shareText(best.accuracy)} on held-out rows` },
    accuracy !== undefined && {
      name: run.run.verb === 'cross-validate' ? 'Accuracy on held-out rows' : test ? 'Test accuracy' : 'Accuracy',
      value: shareText(accuracy),
      note: test && `on ${countText(test.rows)} rows`,
    },
    gap !== undefined && {
      name: 'Relative gap',
      value: gapText(gap),
      note: relaxed ? 'of the last convex problem' : 'certified over all rows',
    },
    primal !== undefined && { name: 'Objective', value: numberText(primal), note: 'at the model that was saved' },
    rows !== undefined && {
      name: 'Rows',
      value: countText(rows),
      note: [
        features !== undefined && `${countText(features)} features`,
        nonzeros !== undefined && `${countText(nonzeros)} nonzeros`,
      ]
        .filter(Boolean)
        .join(', '),
    },
    seconds !== undefined && {
      name: 'Time',
      value: secondsText(seconds),
      note: passes === undefined ? undefined : `${countText(passes)} ${passes === 1 ? 'pass' : 'passes'}`,
    },
    peak !== undefined && {
      name: 'Memory at most',
      value: bytesText(peak),
      note: `${trained > 0 ? 'while it trained, ' : ''}${allowed === undefined ? 'no limit was set' : `of ${bytesText(allowed)} allowed`}`,
    },
  ]
  return found.filter(fact => fact !== false && fact !== undefined)
}

export interface Verdict {
  text: string
  good: boolean
  /** Lines below it, by columns. */
  sum?: string[][]
  advice?: string | undefined
}

/** How it ended, and whether that is what was wanted. */
export function verdictOf({ result, run, end }: RunRecords): Verdict {
  if (end) {
    // An error of memory has a sum behind its sentence, in lines of its own.
    const [sentence, ...lines] = end.error.split('\n')
    const sum = lines.map(line => line.trim().split(/ {2,}/))
    return { text: `The run failed: ${sentence}`, good: false, sum, advice: end.advice }
  }
  if (!result)
    return { text: 'These records end before the run did: it was stopped, or is still going on.', good: false }
  const { exitReason, solver, solverReason, primal, dual, gap } = result as {
    [field: string]: unknown
    primal?: number | null
    dual?: number | null
    gap?: number | null
  }
  const by = typeof solver === 'string' ? ` Solver ${solver}${solverReason ? `: ${solverReason}` : ''}.` : ''
  const { tolerance } = run.settings as { tolerance?: number }
  if (exitReason === 'interrupted')
    return { text: `The run was interrupted, and its model saved as it was.${by}`, good: false }
  if (typeof primal === 'number' && typeof dual === 'number' && typeof gap === 'number') {
    const within = `The optimum lies between ${numberText(dual)} and ${numberText(primal)}: the model is within ${gapText(gap)} of it, proved over all rows.`
    const reached = exitReason === 'converged'
    const short = tolerance === undefined ? '' : ` The run stopped short of the tolerance, ${gapText(tolerance)}.`
    return { text: `${within}${reached ? '' : short}${by}`, good: reached }
  }
  if (result['relaxations'] !== undefined) {
    const reached = exitReason === 'converged'
    const end = reached ? 'Training is done.' : 'The run stopped before its outliers settled.'
    return { text: `${end} The problem is not convex: no bound is known for its optimum.${by}`, good: reached }
  }
  if (run.verb === 'train') return { text: `Training is done. This method has no certificate.${by}`, good: true }
  return { text: `The run is done.${by}`, good: true }
}
