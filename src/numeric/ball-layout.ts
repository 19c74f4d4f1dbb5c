// Byte layout of the one-pass method's ball between two blocks. Made by `npm run layouts` from the tables in
// structures/: change those. Integer constants only, for both compilers read this file.

/** f64: the radius R. */
export const BALL_RADIUS = 0
/** f64: ξ², squared length of the part of the centre that lies in the directions of the rows' slacks. */
export const BALL_SLACK = 8
/** f64: squared length of the whole centre, ‖w‖² + ξ²; the weights are w divided by it. 0 before the first row. */
export const BALL_SQUARE = 16
/** f64: rows that moved the ball. */
export const BALL_UPDATES = 24
/** f64: losses of the block's rows as they were met (out). */
export const BALL_LOSS = 32
export const BALL_BYTES = 40
