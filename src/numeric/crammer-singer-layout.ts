// Byte layout of Crammer and Singer's problem: all classes at once, over row records. Made by `npm run layouts` from
// the tables in structures/: change those. Integer constants only, for both compilers read this file.

/** u32: address of u32[rows], row record addresses. */
export const TOGETHER_ROWS = 0
/** u32: classes, K. */
export const TOGETHER_CLASSES = 4
/** u32, bytes: from one feature's weights to the next: K is rounded up to an even number, and the weight too many stays
 *  0. */
export const TOGETHER_STRIDE = 8
/** u32: address of the weights, f64, one for each class of a feature together. */
export const TOGETHER_WEIGHTS = 12
/** u32: address of the weights of the bias. */
export const TOGETHER_BIAS_WEIGHTS = 16
/** u32: address of f64[rows × K], the dual variables. */
export const TOGETHER_ALPHA = 20
/** u32: address of u32[], the place of a class among the weights by its number in row records. */
export const TOGETHER_PLACES = 24
/** u32: address of f64[K], the cost of a row by the place of its class. */
export const TOGETHER_COSTS = 28
/** u32: address of u64[rows × words], a bit for each class: 1 when it is shrunk for that row. */
export const TOGETHER_SHRUNK = 32
/** u32: words of 64 bits for each row. */
export const TOGETHER_WORDS = 36
/** u32: address of scratch memory of the sweep. TOGETHER_SCRATCH_CLASS bytes for each class (K rounded up). */
export const TOGETHER_SCRATCH = 40
/** u32: address of f64[rows], the weight of each row, which its cost is multiplied by; 0 for none. */
export const TOGETHER_ROW_WEIGHTS = 44
/** f64: value of the bias feature in every row, 0 for none. */
export const TOGETHER_BIAS = 48
/** f64: over ranks: how much further a sweep moves w than its rows ask for; else 1. */
export const TOGETHER_DAMPING = 56
export const TOGETHER_BYTES = 64

/** Scores, simplex values and steps (f64 each), classes in play and classes that move (u32 each). */
export const TOGETHER_SCRATCH_CLASS = 32
