// Solver `pegasos`: stochastic sub-gradient steps on the primal, rows read block by block.
//
//   min_w  ½‖w‖² + Σ_i C_i max(0, 1 − y_i wᵀx_i)         divided by S = Σ_i C_i (which is lC when all costs are C):
//   min_w  1/(2S) ‖w‖² + (1/l) Σ_i (l C_i / S) max(0, 1 − y_i wᵀx_i)
//
// So λ = 1/S, and a row counts by its cost as a multiple of the average cost S/l. Update t, with a batch B of rows:
//
//   ∇ = (1/S) w − (1/|B|) Σ_{i ∈ B⁺} (l C_i / S) y_i x_i        B⁺ = { i ∈ B : y_i wᵀx_i < 1 },  η = S/t
//   w ← w − η∇ = (1 − 1/t) w + l/(t|B|) Σ_{i ∈ B⁺} C_i y_i x_i
//   w ← min(1, √S / ‖w‖) w           the optimum is in that ball: ‖w*‖² = Σ α_i − Σ C_i ξ_i ≤ S
//
// t counts updates from 1, over the whole run. Shalev-Shwartz, Singer, Srebro: Pegasos (ICML 2007); by blocks: Yu, Hsieh,
// Chang, Lin (KDD 2010), Algorithm 3 and (11)–(13). --batch row (BLOCK-P-I) makes an update for each row of a block, in
// an order drawn anew each time; --batch block (BLOCK-P-B) one update with the whole block. The plain online form is
// --batch row --max-passes 1. The bias is a feature like the others, and regularised like them.
//
// There are no dual variables, hence no gap to stop at: the run ends after --max-passes.
import type { BinaryObjective } from '../objectives/binary.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import { pegasosTask } from './pegasos-task.ts'
import type { BlockSolver, Run, SolverSettings } from './solver.ts'

function pegasosRun(objective: BinaryObjective, engine: BlockEngine, settings: SolverSettings): Run {
  const { store, threads, weighted } = engine
  const { seed, batch } = settings
  const { rows: all, labels } = store.manifest
  const { positive, costPositive, costNegative } = objective.settings
  const sum = costPositive * labels[positive].rows + costNegative * (all - labels[positive].rows)
  // What weights of rows add up to is not known before they are read. Steps lead to the optimum without the ball, too.
  const ball = weighted ? Number.POSITIVE_INFINITY : sum
  // t so far. Between blocks w is in its place, nothing else is to be kept.
  let updates = 0
  return {
    async visit(block, { pass }) {
      const random: [number, number, number] = [seed, pass, block.group]
      const met = await threads.run(pegasosTask, { of: objective.at(block), batch, random, updates, all, ball })
      updates = met.updates
      return { losses: [met.loss], gaps: [0] }
    },
    saved: {
      state: () => ({ updates }),
      restore: state => {
        updates = (state as { updates: number }).updates
      },
    },
  }
}

export const pegasos: BlockSolver = {
  name: 'pegasos',
  summary: 'stochastic sub-gradient steps on the primal, rows read block by block',
  data: 'blocks',
  dual: false,
  rowWeights: true,
  cacheShare: 0,
  defaultPasses: 10,
  options: ['blockOrder', 'batch'],
  lossNeeds: {
    what: 'a slope that is the same wherever there is a loss (the hinge loss has it)',
    has: loss => loss.box?.(1).diagonal === 0,
  },
  start: pegasosRun,
}
