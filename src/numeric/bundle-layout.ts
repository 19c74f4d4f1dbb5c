// Byte layout of a bundle: up to eight models that are trained on the same rows at the same time. Their weights lie
// side by side, feature by feature, one lane each: eight f64 are a cache line. Made by `npm run layouts` from the
// tables in structures/: change those. Integer constants only, for both compilers read this file.

/** u32: address of u32[rows], row record addresses. */
export const BUNDLE_ROWS = 0
/** u32: rows. */
export const BUNDLE_COUNT = 4
/** u32: address of the dual variables, for each row one f64 a lane; logistic: then C − α, again one a lane. */
export const BUNDLE_ALPHA = 8
/** u32: address of the weights, for each feature one f64 a lane. */
export const BUNDLE_WEIGHTS = 12
/** u32: number of the bias feature. */
export const BUNDLE_BIAS_FEATURE = 16
/** u32: 1 when the loss is logistic. */
export const BUNDLE_LOGISTIC = 20
/** f64: value of the bias feature, 0 for none. */
export const BUNDLE_BIAS = 24
/** u32: address of u8[rows], the fold of each row, or 0. */
export const BUNDLE_FOLDS = 32
/** u32: how many lanes are models. */
export const BUNDLE_MODELS = 36
/** u32: a bit for each lane that is still trained. */
export const BUNDLE_ACTIVE = 40
/** u32: address of f64[rows], where a sweep notes what each row is worth to the models together, or 0. */
export const BUNDLE_WORTH = 44
/** u32: address of f64[rows], the weight of each row, which its costs are multiplied by; 0 for none. */
export const BUNDLE_ROW_WEIGHTS = 48
/** u32[8]: class number that is positive, for each lane. */
export const BUNDLE_POSITIVE = 64
/** u32[8]: fold that is held out, for each lane; 2^32 − 1 for none. */
export const BUNDLE_HELD_OUT = 96
/** f64[8]: upper bound of the box dual for positive rows, for each lane: see PROBLEM_. */
export const BUNDLE_BOUND_POSITIVE = 128
/** f64[8]: the same for negative rows. */
export const BUNDLE_BOUND_NEGATIVE = 192
/** f64[8]: diagonal of the box dual for positive rows, for each lane. */
export const BUNDLE_DIAGONAL_POSITIVE = 256
/** f64[8]: the same for negative rows. */
export const BUNDLE_DIAGONAL_NEGATIVE = 320
/** f64[8]: the largest projected gradient of the present sweep, for each lane (in and out). */
export const BUNDLE_GRADIENT_MAX = 384
/** f64[8]: the smallest projected gradient (in and out). */
export const BUNDLE_GRADIENT_MIN = 448
/** f64[8]: losses in the present sweep, for each lane (in and out). */
export const BUNDLE_LOSS = 512
/** f64[8]: debts to the gap in the present sweep, for each lane (in and out). */
export const BUNDLE_GAP = 576
/** f64[8]: upper threshold of shrinking, from the last sweep, for each lane. */
export const BUNDLE_UPPER = 640
/** f64[8]: lower threshold of shrinking. */
export const BUNDLE_LOWER = 704
/** f64[8]: scratch for a row's dot products; between sweeps for squared lengths of weights. */
export const BUNDLE_DOTS = 768
/** f64[8]: scratch for a row's steps. */
export const BUNDLE_STEPS = 832
/** u32[8]: where a held-out row's score goes, for each lane: the number of a column. */
export const BUNDLE_COLUMN = 896
/** u32[8]: of each lane: see SWEEP_. */
export const BUNDLE_MOMENTUM = 928
/** f64[8]: of each lane: the share of the last sweep that its dual variables are carried on by. */
export const BUNDLE_SHARES = 960
/** f64[8]: scratch: what that gains. */
export const BUNDLE_GAINS = 1024
export const BUNDLE_BYTES = 1088

/** Lanes of a bundle at most. */
export const BUNDLE_LANES = 8
