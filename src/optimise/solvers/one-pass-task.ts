// Grows the ball of the one-pass method over the rows of one block.
import { BALL_BYTES, BALL_LOSS, BALL_RADIUS, BALL_SLACK, BALL_SQUARE, BALL_UPDATES } from '../../numeric/ball-layout.ts'
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
  const fields = arena.f64(room, BALL_BYTES / 8)
  fields[BALL_RADIUS / 8] = ball.radius
  fields[BALL_SLACK / 8] = ball.slack
  fields[BALL_SQUARE / 8] = ball.square
  fields[BALL_UPDATES / 8] = ball.updates
  ;(narrow ? arena.numeric.growBallF32 : arena.numeric.growBallF64)(problem, room)
  return {
    loss: fields[BALL_LOSS / 8],
    ball: {
      radius: fields[BALL_RADIUS / 8],
      slack: fields[BALL_SLACK / 8],
      square: fields[BALL_SQUARE / 8],
      updates: fields[BALL_UPDATES / 8],
    },
  }
}
