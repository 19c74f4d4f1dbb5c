// Byte layouts of the data's columns, and of the state of coordinate descent over features. Made by `npm run layouts`
// from the tables in structures/: change those. Integer constants only, for both compilers read this file.

/** u32: rows. */
export const L1_ROWS = 0
/** u32: columns: features, and the bias if there is one. */
export const L1_FEATURES = 4
/** u32: address of u32[columns + 1], where each column starts among the entries. */
export const L1_STARTS = 8
/** u32: address of u32[], row numbers of the entries. */
export const L1_ENTRIES = 12
/** u32: address of f64[], values of the entries. Label, scale and, for the squared hinge, the root of the cost are
 *  multiplied into them. */
export const L1_VALUES = 16
/** u32: address of f64[columns], w. */
export const L1_WEIGHTS = 20
/** u32: address of f64[columns], where the present step leads to. */
export const L1_NEXT = 24
/** u32: address of f64[columns], second derivatives of the present model (logistic); under l2 the largest |v|. */
export const L1_CURVE = 28
/** u32: address of f64[columns], what second derivatives stay below, but for a factor: Σ v², or Σ C v² (logistic). */
export const L1_MOST = 32
/** u32: address of f64[rows], or of pairs of f64, what columns are multiplied with: √C (1 − m); logistic: the pair u,
 *  D, the derivative of the model, and its second derivative; under l2 the pair C p, m. */
export const L1_STATE = 36
/** u32: address of f64[rows], margins (logistic). */
export const L1_MARGINS = 40
/** u32: address of f64[rows], how the present step changes margins. */
export const L1_CHANGE = 44
/** u32: address of f64[rows], √C; logistic: C. */
export const L1_COSTS = 48
/** u32: address of u32[columns], column numbers: those of the present sweep first, then others that are active, then
 *  shrunk ones. */
export const L1_ORDER = 52
/** u32: how many columns are active. */
export const L1_ACTIVE = 56
/** u32: how many of those are in the present sweep. */
export const L1_INNER = 60
/** u32: the next position in the order. */
export const L1_CURSOR = 64
/** u32: 1 in the first sweep over a new model (logistic). */
export const L1_FIRST = 68
/** u32: what comes next (logistic): one of the L1_PHASE_ constants. */
export const L1_PHASE = 72
/** u32: one more than the columns of the sweep under way, 0 when there is none. */
export const L1_BEGAN = 76
/** f64: a weight of zero whose derivative is below it is shrunk. */
export const L1_LIMIT = 80
/** f64: of the present sweep: the largest violation of optimality (in and out). */
export const L1_WORST = 88
/** f64: of the present sweep: the sum of violations (in and out). */
export const L1_SUM = 96
/** f64: of the present sweep: the largest derivative (in and out). */
export const L1_STEEPEST = 104
/** f64: entries visited (in and out). */
export const L1_VISITED = 112
/** u64: state of the random numbers. */
export const L1_RANDOM = 120
/** f64: of the last estimate: Σ loss. */
export const L1_LOSS = 128
/** f64: of the last estimate: the objective. */
export const L1_PRIMAL = 136
/** f64: of the last estimate: the gap. */
export const L1_GAP = 144
/** f64: the limit for the next model's first sweep. */
export const L1_OUTER_LIMIT = 152
/** f64: the violations of the very first sweep. */
export const L1_START_SUM = 160
/** f64: what share of those a model is solved to. */
export const L1_SHARE = 168
/** u32: sweeps over the present model. */
export const L1_SWEEPS = 176
/** u32: 1 to wake all columns for the next model. */
export const L1_WAKE = 180
/** u32: address of u32[columns], the columns of a Newton step. */
export const L1_LIST = 184
/** u32: address of f64[4 × columns], what conjugate gradients keep. */
export const L1_GRADIENTS = 188
/** f64: sweeps or models between two Newton steps. */
export const L1_WAIT = 192
/** f64: sweeps or models since the last Newton step. */
export const L1_SINCE = 200
/** f64: by what share of theirs second derivatives are raised in a Newton step. */
export const L1_DAMPING = 208
export const L1_BYTES = 216

export const L1_PHASE_MODEL = 0
export const L1_PHASE_SWEEP = 1
export const L1_PHASE_DIRECTION = 2
export const L1_PHASE_STEP = 3
