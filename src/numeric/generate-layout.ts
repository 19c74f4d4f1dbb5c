// Byte layouts of the data generator: its plan, the groups of features, and what a thread works in. Made by `npm run
// layouts` from the tables in structures/: change those. Integer constants only, for both compilers read this file.

// --- The plan: what every thread reads and none writes.
/** u32: one of the PLAN_KIND_ constants. */
export const PLAN_KIND = 0
/** u32: features of a dense row. */
export const PLAN_FEATURES = 4
/** u64: the seed. */
export const PLAN_SEED = 8
/** f64: share of rows whose hidden class is positive. */
export const PLAN_POSITIVE = 16
/** f64: share of rows whose label is the other class. */
export const PLAN_NOISE = 24
/** f64: how far the hidden class tilts a row: a probability for sparse rows, a distance for dense ones. */
export const PLAN_TILT = 32
/** f64: from 0, every row is tilted in full, to 1, by anything down to nothing. */
export const PLAN_HARDNESS = 40
/** u32: of 256 pairs of features, how many tell the classes apart. */
export const PLAN_TELLING = 48
/** u32: number of groups of a sparse row, or of columns of a table. */
export const PLAN_GROUPS = 52
/** u32: address of the groups, or of the columns. */
export const PLAN_GROUP_TABLE = 56
/** u32: 1 when every value is 1. */
export const PLAN_ONES = 60
/** u32: address of f64[GENERATE_COUNTS], the value of a feature that was drawn so many times, before normalising. */
export const PLAN_COUNT_VALUES = 64
/** u32: most draws a row can have, or the length of a dense row. */
export const PLAN_MOST = 68
/** u32: address of f32[GENERATE_BINS + 1], quantiles of the normal distribution. */
export const PLAN_NORMAL = 72
/** u32: address of 256 texts of eight bytes, the last byte a length; 0 when dense rows are unit-length numbers. */
export const PLAN_LEVELS = 76
/** f64: correlation between neighbouring features of a dense row. */
export const PLAN_CORRELATION = 80
/** f64: the innovation's factor that keeps the variance at 1. */
export const PLAN_INNOVATION = 88
/** u32: classes, labelled from 1; 0 for the two classes −1 and +1. */
export const PLAN_CLASSES = 96
/** u32: of 65536 draws of a sparse row, how many repeat an earlier one. */
export const PLAN_BURST = 100
/** u32: 1 when the values of a sparse row are divided by their largest, not by the row's length. */
export const PLAN_BY_LARGEST = 104
/** u32: pixels along a side of a drawn picture. */
export const PLAN_SIDE = 108
/** u32: address of the drawings, DRAWINGS_OF_A_CLASS for each class. */
export const PLAN_DRAWINGS = 112
export const PLAN_BYTES = 120

export const PLAN_KIND_SPARSE = 0
export const PLAN_KIND_DENSE = 1
export const PLAN_KIND_DRAWN = 2
export const PLAN_KIND_TABLE = 3
/** Ways to write a class. */
export const DRAWINGS_OF_A_CLASS = 2

// --- A drawing: strokes in a square of side 1.
/** u32: address of f32[4 × segments], x and y of both ends of each straight piece. */
export const DRAWING_STROKES = 0
/** u32: straight pieces. */
export const DRAWING_SEGMENTS = 4
export const DRAWING_BYTES = 8

// --- A group: a range of features from which a sparse row draws.
/** u32: zero-based number of its first feature. */
export const GROUP_FIRST = 0
/** u32: address of f64[GENERATE_BINS + 1], ranks at even steps of probability. */
export const GROUP_RANKS = 4
/** u32: address of u32[GENERATE_LENGTHS], numbers of draws a row at even steps of probability; 0 when every row draws
 *  once and nothing is scattered. */
export const GROUP_DRAWS = 8
/** u32: clusters that ranks are scattered over; 0 leaves features in the order of their rank. */
export const GROUP_CLUSTERS = 12
/** u32: distance from cluster to cluster. */
export const GROUP_STRIDE = 16
/** u32: features in a cluster. */
export const GROUP_RUN = 20
/** u32: bytes that hold the largest feature number within the group. */
export const GROUP_KEY_BYTES = 24
export const GROUP_BYTES = 32

// --- A column of a table.
/** u32: address of f64[GENERATE_BINS + 1], ranks of names, or numbers, at even steps of probability. */
export const MADE_QUANTILES = 0
/** u32: 1 for a column of numbers, 0 for one of names. */
export const MADE_IS_NUMBER = 4
/** u32: of 65536 cells, how many are missing. */
export const MADE_MISSING = 8
/** u32: what is taken off a number. */
export const MADE_LEAST = 12
export const MADE_BYTES = 16

/** Pieces of the piecewise uniform distributions: a random number's top ten bits choose one. */
export const GENERATE_BINS = 1024
/** Pieces of the distribution of row lengths: eight bits. */
export const GENERATE_LENGTHS = 256
/** Counts above the last are taken for the last. */
export const GENERATE_COUNTS = 1024

// --- A slot: scratch of one chunk in the making, followed by four arrays of PLAN_MOST + 4 words.
/** u32: nonzeros of the chunk (out). */
export const SLOT_NONZEROS = 0
/** u32: rows labelled positive (out). */
export const SLOT_POSITIVE = 4
/** u32[1024]: four histograms of bytes. */
export const SLOT_HISTOGRAMS = 64
/** u8[16384]: 16 bytes a count: `:value `, the last byte its length. */
export const SLOT_TEXTS = 4160
/** u32[1024]: for each count, the number of the row whose value the text is. */
export const SLOT_STAMPS = 20544
/** u32[1024]: the counts that a row has. */
export const SLOT_DISTINCT = 24640
export const SLOT_ARRAYS = 28736
