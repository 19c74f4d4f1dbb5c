// Grows the ball of the one-pass method over the rows of one block.

import { BallFields } from '../../numeric/fields/ball.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'

/** The ball between two blocks; its centre's w is the weights times `square`. */
export interface Ball {
  radius: number
  /** ξ². */
  slack: number
  /** ‖w‖² + ξ², 0 before the first row. */
  square: number
  /** Rows that moved it. */
  updates: number
}

export interface OnePassOptions {
  problem: number
  /** Address of room for a BALL_ structure. */
  room: number
  ball: Ball
  narrow: boolean
}

export interface OnePassResult {
  loss: number
  ball: Ball
}

export const onePassTask = declareTask(import.meta.url, 'one-pass', onePass)

function onePass({ arena }: TaskContext, { problem, room, ball, narrow }: OnePassOptions): OnePassResult {
  const fields = new BallFields(arena, room)
  fields.radius = ball.radius
  fields.slack = ball.slack
  fields.square = ball.square
  fields.updates = ball.updates
  ;(narrow ? arena.numeric.growBallF32 : arena.numeric.growBallF64)(problem, room)
  return {
    loss: fields.loss,
    ball: { radius: fields.radius, slack: fields.slack, square: fields.square, updates: fields.updates },
  }
}
