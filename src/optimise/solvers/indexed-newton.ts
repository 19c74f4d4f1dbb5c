// Second-order steps on the primal of the active set, (16) of the paper on indexed block coordinate descent with B = S; and the
// certificate of their weights, by the gradient over all rows.
import { runLoops, runOverRows } from '../../threads/loop-task.ts'
import type { Certificate } from '../objectives/certificate.ts'
import { PrimalView } from '../objectives/primal-view.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import type { ActiveFill } from './active-set.ts'
import { type AwayRows, FIXED, type SetOfRun } from './away-rows.ts'
import { DescentsRun } from './descents-run.ts'
import { gatherWeights, indexedDualTask } from './indexed-task.ts'
import { isFew, NewtonDescent } from './newton.ts'

const MOST_PASSES = 300

export interface Stepped {
  fill: ActiveFill
  primal: number
  gap: number
  passes: number
}

export class StepsOnSet {
  readonly #of: SetOfRun
  readonly #away: AwayRows

  constructor(of: SetOfRun, away: AwayRows) {
    this.#of = of
    this.#away = away
  }

  /** Steps until S owes no more than the target. Rows that are away are read for every pass. */
  async solve(group: RowGroup, fill: ActiveFill, target: number, draw: number): Promise<Stepped> {
    const { objective, memory, settings, engine } = this.#of
    const { table, alpha, rowWeights } = memory
    gatherWeights(engine.arena, memory, fill.count)
    const here: RowGroup = { ...group, table, rows: fill.count, alpha, rowWeights }
    const groups = fill.away > 0 ? this.#away.groups(fill, draw) : []
    const source = this.#asSource(fill.count + fill.away)
    const run = new DescentsRun(source, [new NewtonDescent(objective, source, settings)], settings)
    let [gap, primal, passes] = [Number.POSITIVE_INFINITY, 0, 0]
    for (; gap > target && passes < MOST_PASSES; passes++) {
      await run.visit(here)
      for await (const rows of this.#away.loaded(groups, fill)) await run.visit(rows)
      const end = await run.endPass(0)
      ;[[gap], [primal]] = [end.gaps, end.primals]
    }
    const met = await this.#away.findDual(groups, fill)
    const dual = { of: objective.at(here), memory, fill: met }
    return { fill: await engine.threads.run(indexedDualTask, dual), primal, gap, passes }
  }

  /** Steps on all rows of the store, whoever visits them. */
  overAll(): DescentsRun {
    const { objective, settings, engine } = this.#of
    const source = this.#asSource(engine.rows)
    return new DescentsRun(source, [new NewtonDescent(objective, source, settings)], settings)
  }

  /** Half of the squared gradient over all rows is the gap. */
  async certificate(): Promise<Certificate> {
    const { engine, objective } = this.#of
    const { arena, weights, weightCount } = objective
    const view = new PrimalView(objective, this.#asSource(engine.rows), isFew(weightCount))
    arena.bytes(view.point, weightCount * 8).set(arena.bytes(weights, weightCount * 8))
    view.begin()
    for await (const group of engine.pass(engine.groups(-1, FIXED))) {
      await runOverRows(engine.threads, group, view.calls(group, 'slope'))
      view.met('slope')
    }
    await runLoops(engine.threads, view.closing('slope'))
    return view.slope(view.direction).certificate
  }

  /** So many rows as a source, for a method that looks at all of them. */
  #asSource(count: number): RowSource {
    const { engine } = this.#of
    const { arena, threads, nonzeros, rows } = engine
    const all = { rows: count, nonzeros: (nonzeros / Math.max(1, rows)) * count }
    return {
      ...{ arena, threads, ...all, all, blockBytes: [1] },
      ...{ counts: { blocksRead: 0, bytesRead: 0, bytesSkipped: 0 }, groups: () => [[0]] },
      room: (name, bytes, zeroed) => engine.room(`the active set: ${name}`, bytes, zeroed),
      pass: async function* () {},
    }
  }
}
