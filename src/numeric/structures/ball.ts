// The table of ball-layout.ts.
import type { LayoutFile } from './structure.ts'

export const ball: LayoutFile = {
  file: 'ball-layout.ts',
  opening: "Byte layout of the one-pass method's ball between two blocks.",
  parts: [
    {
      structure: 'Ball',
      prefix: 'BALL_',
      fields: [
        ['RADIUS', 'f64', 'the radius R.'],
        [
          'SLACK',
          'f64',
          "ξ², squared length of the part of the centre that lies in the directions of the rows' slacks.",
        ],
        [
          'SQUARE',
          'f64',
          'squared length of the whole centre, ‖w‖² + ξ²; the weights are w divided by it. 0 before the first row.',
        ],
        ['UPDATES', 'f64', 'rows that moved the ball.'],
        ['LOSS', 'f64', "losses of the block's rows as they were met (out)."],
      ],
    },
  ],
}
