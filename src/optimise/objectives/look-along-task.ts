// A piece of the last line search: losses of some rows along the weights, and what the rows look like.
import type { Arena } from '../../numeric/arena.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import type { Lanes } from './bundle.ts'
import { startAlong } from './line-search.ts'

export interface LookAlongOptions {
  /** Address of a PROBLEM_, a TOGETHER_ or a BUNDLE_ structure. */
  problem: number
  /** Which of them: a binary problem by the type of its weights, or the lanes of a bundle. */
  kind: 'f64' | 'f32' | 'together' | Lanes
  from: number
  to: number
  /** Where the result goes: ALONG_BYTES. */
  along: number
  /** Of Crammer and Singer's problem: room for the scores of a row. */
  scores?: number
}

export const lookAlongTask = declareTask(import.meta.url, 'look-along', runLookAlong)

function runLookAlong({ arena }: TaskContext, options: LookAlongOptions): void {
  lookAlong(arena, options)
}

export function lookAlong(arena: Arena, { problem, kind, from, to, along, scores = 0 }: LookAlongOptions): void {
  const { numeric } = arena
  startAlong(arena, along)
  if (kind === 'f64') numeric.alongF64(problem, from, to, along)
  else if (kind === 'f32') numeric.alongF32(problem, from, to, along)
  else if (kind === 'together') numeric.alongTogether(problem, from, to, scores, along)
  else numeric[`alongBundle${kind}`](problem, from, to, along)
}
