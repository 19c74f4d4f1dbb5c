// Dual coordinate descent over the rows of one block, a given number of sweeps or until they agree.
import type { Arena } from '../../numeric/arena.ts'
import { drawFrom } from '../../numeric/draw.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { type SweepSettings, Sweeps, startSweeps } from './sweeps.ts'

export interface BlockSweepsOptions extends SweepSettings {
  problem: number
  sweep: number
  order: number
  /** Seed, pass and block: what the order of the rows is drawn from, so that a resumed run draws the same. */
  random: [number, number, number]
  /** Passes before this one. */
  pass: number
  innerPasses: number
  innerTolerance: number | undefined
}

export interface BlockSweepsResult {
  /** Of the first sweep, which met every row. */
  loss: number
  gap: number
  sweeps: number
  work: number
}

/** BLOCK-L-D ends after finitely many sweeps (Theorem 2 of the paper); a bound for the impatient. */
const MOST_SWEEPS = 200

export const blockSweepsTask = declareTask(import.meta.url, 'block-sweeps', blockSweeps)

function blockSweeps({ arena }: TaskContext, options: BlockSweepsOptions): BlockSweepsResult {
  let first: { loss: number; gap: number } | undefined
  const done = sweepBlock(arena, options, drawFrom(options.random), outcome => {
    first ??= outcome
  })
  return { loss: first?.loss ?? 0, gap: first?.gap ?? 0, ...done }
}

/** Sweeps as many times as the settings say; `seen` hears of every sweep, the first of which meets every row. */
export function sweepBlock(
  arena: Arena,
  options: Omit<BlockSweepsOptions, 'random'>,
  random: bigint,
  seen: (outcome: { loss: number; gap: number }) => void,
): { sweeps: number; work: number } {
  const { problem, sweep, order, rows, innerPasses, innerTolerance } = options
  // A block is met afresh in every pass: how finely its Newton steps go cannot be learnt from the sweeps before.
  startSweeps(arena, sweep, order, rows, random, Math.max(1e-9, 10 ** (-2 - options.pass)))
  const { startEntropicF32, startEntropicF64 } = arena.numeric
  if (options.logistic) (options.narrow ? startEntropicF32 : startEntropicF64)(problem, order, rows)
  const sweeps = new Sweeps(arena, problem, sweep, options)
  const most = innerTolerance === undefined ? innerPasses : MOST_SWEEPS
  let count = 0
  while (count < most) {
    const { loss, gap, spread } = sweeps.advance(Number.POSITIVE_INFINITY)!
    seen({ loss, gap })
    count++
    if (innerTolerance !== undefined && spread <= innerTolerance) break
  }
  return { sweeps: count, work: sweeps.work }
}
