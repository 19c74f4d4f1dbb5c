// Solver `one-pass`: a ball that encloses every row seen so far; each row is looked at once and forgotten.
//
//   min_w  ½‖w‖² + C Σ_i max(0, 1 − y_i wᵀx_i)²      has the dual      min_{α ≥ 0}  ½ αᵀKα − Σα,   K = Q + I/(2C)
//
// K holds the inner products of the points p_i = (y_i x_i, e_i/√(2C)), each with a direction e_i of its own. Where all
// points are equally long, the smallest ball around them has its centre c = Σ α_i p_i where αᵀKα is least over Σα = 1, and
// the dual's solution is the same α divided by q = αᵀKα = ‖c‖². The centre is (w, σ); of σ only ξ² = ‖σ‖² is needed, for a
// new row's direction is none that σ has:
//
//   d² = ‖w − y x‖² + ξ² + 1/(2C)                    distance of a row from the centre
//   if d ≥ R, with β = ½(1 − R/d):                   the smallest ball around the old one and the point
//     w ← w + β (y x − w)      ξ² ← (1 − β)² ξ² + β²/(2C)      R ← R + ½(d − R)
//
// The first row is the first ball: w = y x, ξ² = 1/(2C), R = 0. The weights that the problem above asks for are w/q with
// q = ‖w‖² + ξ², and these are what is kept between blocks.
//
// Rai, Daumé, Venkatasubramanian: Streamed learning: one-pass SVMs (IJCAI 2009), Algorithm 1. Its C is twice ours (it has
// ‖w‖² without ½), and it starts and feeds ξ² with 1 and β² where the geometry says 1/C and β²/C: the same at its C = 1.
//
// Rows of different lengths, or costs that differ from row to row, would make a ball that leans to the far points, not
// to the costly ones: so class weights are refused, and rows of unit length are advised. Rows come in the order of the
// blocks (drawn unless --block-order fixed) and, within one, as they stand.
import { BALL_BYTES } from '../../numeric/ball-layout.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import { type Ball, onePassTask } from './one-pass-task.ts'
import type { BlockSolver, Run } from './solver.ts'

function onePassRun(objective: BinaryObjective, { arena, threads }: BlockEngine): Run {
  const { narrow } = objective
  const room = arena.allocateZeroed(BALL_BYTES, 'the ball')
  let ball: Ball = { radius: 0, slack: 0, square: 0, updates: 0 }
  return {
    async visit(block, { pass }) {
      // A run that is resumed after its pass was done: every row is in the ball already.
      if (pass > 0) return { losses: [0], gaps: [0] }
      const met = await threads.run(onePassTask, { problem: objective.of(block), room, ball, narrow })
      ball = met.ball
      return { losses: [met.loss], gaps: [0] }
    },
    saved: {
      state: () => ball,
      restore: state => {
        ball = state as Ball
      },
    },
  }
}

export const onePass: BlockSolver = {
  name: 'one-pass',
  summary: 'a ball around all rows, grown in a single pass: near the optimum, not at it',
  data: 'blocks',
  dual: false,
  cacheShare: 0,
  defaultPasses: 1,
  mostPasses: 1,
  oneCost: true,
  options: ['blockOrder'],
  lossNeeds: {
    what: 'the squared slack that makes its problem one of balls (the squared-hinge loss has it)',
    has: loss => loss.box !== undefined && loss.box(1).diagonal > 0 && loss.box(1).bound === Number.POSITIVE_INFINITY,
  },
  start: onePassRun,
}
