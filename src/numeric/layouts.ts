// Byte layouts that the AssemblyScript loops and the TypeScript around them share. All addresses are bytes in the one
// shared memory. Made by `npm run layouts` from the tables in structures/: change those. Integer constants only, for
// both compilers read this file.

// --- The control page, at the bottom of the memory.
/** u32: address of the next free byte of the arena, which threads move by compare and swap. */
export const ARENA_NEXT = 16
/** u32: address of f64[][width], what each bin of binned rows stands for. */
export const SPACE_TABLE = 24
/** u32: numbers that each bin has in that table. */
export const SPACE_WIDTH = 28
/** u32: address of f64[], the factor of each feature of scaled rows. */
export const SPACE_FACTORS = 32
/** First byte the arena hands out. Below it: this page and the constants of the compiled code. */
export const ARENA_START = 65536

// --- The most that a packed row of n entries takes: ROW_BOUND bytes and 8 for each entry (12 when values are f64); a
// batch may add one dictionary of BATCH_BOUND bytes. Rooms for blocks are reckoned by it.
export const ROW_BOUND = 48
export const BATCH_BOUND = 1040

/** The version of what training states hold: row records, dual variables, working sets, and the JSON of a run. It rises
 *  with every change of one of these, so that no run goes on from memory that means something else. */
export const LAYOUT_VERSION = 2

// --- A row record: what solvers and certificates read. Aligned to 8 bytes.
/** u32: number of entries that follow; for a dense row, its length. */
export const ROW_COUNT = 0
/** u32: one of the ROW_KIND_ constants. */
export const ROW_KIND = 4
/** f64: every stored value is multiplied by it, so making a row unit length rewrites no value. */
export const ROW_SCALE = 8
/** f64: squared length of the row, scale included, bias not. */
export const ROW_NORM = 16
/** u32: class number of the row's label. */
export const ROW_CLASS = 24
/** u32: address of the f32 dictionary of a coded row. */
export const ROW_DICTIONARY = 28
/** Indices (u32 each) start here; a dense row has its values here. Values or codes follow the indices. */
export const ROW_ENTRIES = 32

/** u32, where a coded row has its dictionary: so many entries at the end of a SCALED_F32 row are 1, and so are their
 *  factors. */
export const ROW_ONES = 28

/** u32 indices, then f32 values. */
export const ROW_KIND_F32 = 0
/** u32 indices; every value is 1 before scaling. */
export const ROW_KIND_CONSTANT = 1
/** u32 indices, then u8 codes into the dictionary. */
export const ROW_KIND_CODED = 2
/** f32 values of features 0, 1, 2, …; no indices. */
export const ROW_KIND_DENSE = 3
/** u32 indices, padding to 8 bytes, f64 values. */
export const ROW_KIND_F64 = 4
/** u32 indices, then bin numbers of one or two bytes: vectors of the table at SPACE_TABLE. */
export const ROW_KIND_BINS8 = 5
export const ROW_KIND_BINS16 = 6
/** The same with u16 indices, where those suffice. */
export const ROW_KIND_SHORT_BINS8 = 9
export const ROW_KIND_SHORT_BINS16 = 10
/** Bin numbers of features 0, 1, 2, …; no indices; bin 0 is an absent entry. */
export const ROW_KIND_DENSE_BINS8 = 7
export const ROW_KIND_DENSE_BINS16 = 8
/** As F32 and DENSE, and each value is multiplied by its feature's factor, of those at SPACE_FACTORS. */
export const ROW_KIND_SCALED_F32 = 11
export const ROW_KIND_SCALED_DENSE = 12

// --- Mean and spread of the values that a feature has, zeros left out: a record for each feature.
/** f64: the mean of values times 2^(1023 − exponent). */
export const MOMENTS_MEAN = 0
/** f64: the sum of squared distances from the mean, of values times 2^(1023 − exponent). */
export const MOMENTS_SQUARES = 8
/** u32: how many values there were. */
export const MOMENTS_COUNT = 16
/** u32: an exponent as f64 has it, 1 to 2045, near that of the values. */
export const MOMENTS_EXPONENT = 20
export const MOMENTS_BYTES = 24

// --- Features that data and models can have: their numbers are u32 and the largest one is kept free, so that "one past
// the last" is a u32 too.
export const MOST_FEATURES = 0xfffffffe

// --- A batch: rows as a parser or decoder leaves them (compressed sparse rows), before they are packed or encoded.
/** u32: rows. */
export const BATCH_ROWS = 0
/** u32: nonzeros. */
export const BATCH_NONZEROS = 4
/** u32: address of u32[rows + 1], where each row starts among the entries. */
export const BATCH_STARTS = 8
/** u32: address of f64[rows], the labels. In place of a label of text stands its code: XXH64 of its bytes with the bits
 *  of LABEL_TEXT_UPPER set in the upper half, which no number has. Loops must move labels as bits: arithmetic may
 *  change a NaN. */
export const BATCH_LABELS = 12
/** u32: address of u32[nonzeros], zero-based feature numbers, rising within a row. */
export const BATCH_INDICES = 16
/** u32: address of f32[nonzeros] or f64[nonzeros]. */
export const BATCH_VALUES = 20
/** u32, bytes: 4 when values are f32, 8 when they are f64. */
export const BATCH_VALUE_BYTES = 24
/** u32: features seen: one more than the largest feature number, explicit zeros included. */
export const BATCH_FEATURES = 28
/** u32: room for so many rows. */
export const BATCH_ROW_CAPACITY = 32
/** u32: room for so many nonzeros. */
export const BATCH_NONZERO_CAPACITY = 36
/** u32: address of u32[rows], where each row's label stands in the text. */
export const BATCH_LABEL_AT = 40
/** u32: address of u32[nonzeros], the upper halves of feature numbers that may pass 2^32, or 0. Only expansions that
 *  hash them afterwards make such. */
export const BATCH_UPPER = 44
/** u32: address of f64[rows], weights of the rows, or room for them; 0 where there is none. */
export const BATCH_WEIGHTS = 48
/** u32: 1 when the rows have those weights; else each counts once. */
export const BATCH_WEIGHTED = 52
export const BATCH_BYTES = 64

// --- The state of a text parser between calls.
/** u32: address of the next byte to parse, in and out. */
export const PARSE_CURSOR = 0
/** u32: address of the end of the text. The byte before it is a line feed, 32 readable bytes follow it. */
export const PARSE_END = 4
/** u32: number that the file gives to its first feature, 0 or 1. */
export const PARSE_INDEX_BASE = 8
/** u32: 1 to step over bad rows, 0 to stop at the first. */
export const PARSE_SKIP_BAD = 12
/** u32: lines finished so far (in and out). */
export const PARSE_LINES = 16
/** u32: bad rows so far (in and out). */
export const PARSE_BAD_ROWS = 20
/** u32[64]: the first PARSE_ERROR_ROOM errors: code, line, address of the offending byte, address of the line's
 *  start. */
export const PARSE_ERRORS = 24
/** u32: explicit zero values dropped so far (in and out). */
export const PARSE_ZEROS = 280
/** u32: values that need the slow, exact conversion (only when values are f64): entry number and text address. */
export const PARSE_SLOW_COUNT = 284
/** u32: address of the list of such values, two u32 each. */
export const PARSE_SLOW = 288
/** u32: room in that list; when it is full the parser returns early. */
export const PARSE_SLOW_CAPACITY = 292
/** u32: 1 when the next row alone is too long for the batch, and a longer one may be read (out). */
export const PARSE_NEEDS_ROOM = 296
export const PARSE_BYTES = 320

export const PARSE_ERROR_BYTES = 16
export const PARSE_ERROR_ROOM = 16

export const PARSE_ERROR_LABEL = 1
export const PARSE_ERROR_INDEX = 2
export const PARSE_ERROR_INDEX_RANGE = 3
export const PARSE_ERROR_INDEX_ZERO = 4
export const PARSE_ERROR_COLON = 5
export const PARSE_ERROR_VALUE = 6
export const PARSE_ERROR_NOT_FINITE = 7
export const PARSE_ERROR_DUPLICATE = 8
export const PARSE_ERROR_UNSORTED = 9
export const PARSE_ERROR_TOO_LARGE = 10
export const PARSE_ERROR_AFTER_LABEL = 11
export const PARSE_ERROR_AFTER_VALUE = 12
export const PARSE_ERROR_TOO_MANY_ENTRIES = 13
export const PARSE_ERROR_MISSING_VALUE = 14
export const PARSE_ERROR_MISSING_STRING = 15
export const PARSE_ERROR_LETTER = 16
export const PARSE_ERROR_STRING_LENGTH = 17
export const PARSE_ERROR_AFTER_STRING = 18
export const PARSE_ERROR_LABEL_LENGTH = 19
export const PARSE_ERROR_LABEL_BYTE = 20

/** The upper half of a quiet NaN. */
export const LABEL_TEXT_UPPER = 0x7ff80000
/** Bytes of the longest label of text. */
export const LONGEST_LABEL = 255
/** Letters of the longest string that is read. */
export const LONGEST_STRING = 1048576

// --- The state of an expansion: rows of one batch become rows of another, as many at a time as that has room for.
/** u32: the next row to be read (in and out). */
export const EXPAND_ROW = 0
/** u32: entries that there must be room for, when the next row does not even fit alone (out); else 0. */
export const EXPAND_NEEDED = 4
/** u32: one of the EXPAND_ERROR_ constants (out); EXPAND_ROW is the row. */
export const EXPAND_ERROR = 8
/** u32: weighted degree: the degree. */
export const EXPAND_DEGREE = 12
/** u32: weighted degree: the letters of the alphabet. */
export const EXPAND_LETTERS = 16
/** u32: address of u8[256], weighted degree: the code of each byte. */
export const EXPAND_CODES = 20
/** u32: hashing: bits of the new feature numbers. */
export const EXPAND_BITS = 24
/** u32: address of scratch memory, for hashing rows of the batch's capacity. */
export const EXPAND_SCRATCH = 28
/** u32: address of f64[(bins + 1) · width], table: what stands at bin k is for the value k / bins. */
export const EXPAND_TABLE = 32
/** u32: table: how many entries one entry becomes. */
export const EXPAND_WIDTH = 36
/** u32: table: the bins. */
export const EXPAND_BINS = 40
/** u32: table: one of the EXPAND_BEYOND_ constants, for values below 0, close to 0 and above 1. */
export const EXPAND_BEYOND = 44
/** f64: table, homogeneous: the period of the map. */
export const EXPAND_PERIOD = 48
/** f64: the value that EXPAND_ERROR_NEGATIVE is about (out). */
export const EXPAND_VALUE = 56
export const EXPAND_BYTES = 64

/** Bytes of that scratch memory besides EXPAND_SCRATCH_ENTRY for each entry. */
export const EXPAND_SCRATCH_BYTES = 8192
export const EXPAND_SCRATCH_ENTRY = 16
/** The code of a byte outside the alphabet. */
export const EXPAND_NO_LETTER = 255
/** Values above 1 count as 1; values nearest to 0 and below, and what is no number, are left out. */
export const EXPAND_BEYOND_CLIP = 0
/** Values above 1 are worked out; values above 0 are never taken for 0; below 0 is an error, and so is what is no
 *  number. */
export const EXPAND_BEYOND_HOMOGENEOUS = 1
/** As the first, but a negative value gives the negative of its opposite. */
export const EXPAND_BEYOND_ODD = 2

/** A feature number passes 2^32 − 3. */
export const EXPAND_ERROR_FEATURE = 1
/** A product passes the largest number that values can hold. */
export const EXPAND_ERROR_VALUE = 2
/** A row becomes longer than EXPAND_MOST_ENTRIES. */
export const EXPAND_ERROR_LENGTH = 3
/** A value is below 0 or no number, and must not be. */
export const EXPAND_ERROR_NEGATIVE = 4
export const EXPAND_MOST_ENTRIES = 67108864

// --- The state of a packer: where row records of one thread go.
/** u32: address of the next free byte of the present extent. */
export const PACK_NEXT = 0
/** u32: address of the end of the present extent. */
export const PACK_END = 4
/** u32: address of u32[], receives the address of every packed row. */
export const PACK_TABLE = 8
/** u32: 1 makes every row unit length. */
export const PACK_UNIT = 12
/** u32: 1 keeps every row as indices and values (scaling will change them); 2 makes no dictionaries, which cost more
 *  than they save when rows are packed for a few visits only. */
export const PACK_PLAIN = 16
/** u32: address of u32[rows], class numbers. */
export const PACK_CLASSES = 20
/** u32: address of PACK_HASH_SLOTS × 8 bytes, scratch of the value dictionary. */
export const PACK_HASH = 24
/** u32: rows packed of the present batch (in and out). */
export const PACK_ROWS = 28
/** u32, bytes: of records written so far (in and out). */
export const PACK_WRITTEN = 32
/** u32: 1 when the extent is all there is: no room beyond it is taken from the arena. */
export const PACK_FIXED = 36
/** u32: values, which lie in [0, 1], become numbers of so many bins; 0 for none. */
export const PACK_BINS = 40
export const PACK_BYTES = 64

export const PACK_HASH_SLOTS = 1024

// --- The problem: one binary problem over row records, shared by sweeps and certificates.
/** u32: address of u32[rows], row record addresses. */
export const PROBLEM_ROWS = 0
/** u32: number of rows. */
export const PROBLEM_COUNT = 4
/** u32: address of the dual variables, f64 each (box losses), or pairs α, C−α (logistic). */
export const PROBLEM_ALPHA = 8
/** u32: address of the weights. */
export const PROBLEM_WEIGHTS = 12
/** u32: class number that is positive; every other class is negative. */
export const PROBLEM_POSITIVE = 16
/** u32: number of the bias feature; its weight stands at that place. */
export const PROBLEM_BIAS_FEATURE = 20
/** f64: value of the bias feature in every row, 0 for none. */
export const PROBLEM_BIAS = 24
/** f64: upper bound of the box dual, for positive rows. */
export const PROBLEM_BOUND_POSITIVE = 32
/** f64: the same for negative rows. */
export const PROBLEM_BOUND_NEGATIVE = 40
/** f64: diagonal of the box dual, for positive rows. */
export const PROBLEM_DIAGONAL_POSITIVE = 48
/** f64: the same for negative rows. */
export const PROBLEM_DIAGONAL_NEGATIVE = 56
/** u32: 1 when the loss is logistic (bounds are the costs), 0 for box losses. */
export const PROBLEM_LOGISTIC = 64
/** u32: address of f64[rows], which receives each row's margin as it is met, or 0. */
export const PROBLEM_MARGINS = 68
/** u32: address of f64[rows], which receives each row's gradient after its visit (its margin, for the logistic loss),
 *  or 0. */
export const PROBLEM_GRADIENTS = 72
/** u32: of one of several trainers: how many of the first weights are its own. */
export const PROBLEM_HOT = 76
/** u32: address of those weights. */
export const PROBLEM_OWN = 80
/** u32: address of f64[rows], the weight of each row, which its costs are multiplied by; 0 for none. */
export const PROBLEM_ROW_WEIGHTS = 84
/** f64: of second-order steps: over so much of the margin the kink of the hinge is rounded. */
export const PROBLEM_SMOOTHING = 88
/** u32: address of u8[rows], the fold of each row, for methods that look at all rows before they move; 0 for none. */
export const PROBLEM_FOLDS = 96
/** u32: the fold whose rows count for nothing. */
export const PROBLEM_HELD_OUT = 100
/** f64: over ranks: how much further a sweep moves w than its rows ask for; else 1. */
export const PROBLEM_DAMPING = 104
export const PROBLEM_BYTES = 112

// --- A sweep of dual coordinate descent: what it carries from slice to slice.
/** u32: address of u32[rows], row numbers, the active ones first. */
export const SWEEP_ORDER = 0
/** u32: number of active rows (in and out). */
export const SWEEP_ACTIVE = 4
/** u32: next position in the order (in and out). */
export const SWEEP_CURSOR = 8
/** u32: 1 to shrink. */
export const SWEEP_SHRINK = 12
/** f64: upper threshold of shrinking, from the last pass. */
export const SWEEP_UPPER = 16
/** f64: lower threshold of shrinking, from the last pass. */
export const SWEEP_LOWER = 24
/** f64: the largest projected gradient in this pass (out). */
export const SWEEP_GRADIENT_MAX = 32
/** f64: the smallest projected gradient in this pass (out). */
export const SWEEP_GRADIENT_MIN = 40
/** f64: sum of losses as the rows were met (out): an estimate, no certificate. */
export const SWEEP_LOSS = 48
/** f64: sum of what the rows owed to the duality gap as they were met (out): an estimate. */
export const SWEEP_GAP = 56
/** f64: nonzeros visited (in and out). */
export const SWEEP_VISITED = 64
/** f64: inner Newton tolerance of the logistic loss. */
export const SWEEP_INNER = 72
/** f64: Newton steps in this sweep (in and out). */
export const SWEEP_NEWTON = 80
/** u64: state of the random numbers that order the rows. */
export const SWEEP_RANDOM = 88
/** f64: the gap that the last finished sweep met (out). */
export const SWEEP_LAST_GAP = 96
/** f64: the loss that the last sweep over all rows met (out). */
export const SWEEP_LAST_LOSS = 104
/** u32: one more than the active rows when the present sweep began, 0 when there is none. */
export const SWEEP_BEGAN = 112
/** u32: how sure it is that dual variables may be carried on before a sweep; 0 when there was no sweep to learn
 *  from. */
export const SWEEP_MOMENTUM = 116
/** f64: steps go further than to the optimum of their row by such a share; 0 for plain steps. */
export const SWEEP_EXTRA = 120
/** f64: sum of the magnitudes of projected gradients in this pass (in and out). */
export const SWEEP_STEEPNESS = 128
/** f64: how many of them are not zero (in and out). */
export const SWEEP_STEEP = 136
/** u32: address of u64[], a bit for each row number, to sort by; 0 unless rows are many: see many-rows.ts. */
export const SWEEP_MARKS = 144
/** u32: row numbers that have a bit. */
export const SWEEP_MARKED = 148
/** u32: sweeps over many rows that have ended. */
export const SWEEP_SWEPT = 152
export const SWEEP_BYTES = 160

// --- A sweep by two trainers, each of which has half of the weights: see assembly/halves.ts.
/** u32: address of u32[rows], how many entries of each row, its first ones, are the first half. */
export const HALVES_SPLITS = 0
/** u32: address of what trainers hand to each other. HALVES_SLOT bytes for each of the last HALVES_RING rows. */
export const HALVES_SLOTS = 4
/** u32: next position of the first trainer (in and out). */
export const HALVES_FIRST = 8
/** u32: next position of the second trainer (in and out). */
export const HALVES_SECOND = 12
/** u32: so far slots have the rows that the second trainer meets (in and out). */
export const HALVES_LOADED = 16
/** u32: active rows that were met and not shrunk (in and out). */
export const HALVES_KEPT = 20
/** u32: 1 when the first trainer has stopped. */
export const HALVES_STOP = 24
/** u32: 1 when it stopped because the second one did not answer (out). */
export const HALVES_GAVE_UP = 28
export const HALVES_BYTES = 32

/** Rows whose slots are told apart; a power of two. */
export const HALVES_RING = 16
/** Each number of a slot has a cache line to itself. */
export const HALVES_SLOT = 256
/** u64: the second trainer's part of the dot product; its last bit tells one round of the ring from the next. */
export const SLOT_SECOND = 0
/** u64: the step along the row, in the same way. */
export const SLOT_STEP = 64
/** f64: the first trainer's part of the dot product. */
export const SLOT_FIRST = 128
/** u32: the row, for the second trainer: its place in the order may have another by then. */
export const SLOT_ROW = 192

// --- Sums that a certificate is made of.
/** f64: Σ loss. */
export const SUMS_LOSS = 0
/** f64: Σ of the dual objective's separable part. */
export const SUMS_DUAL = 8
/** f64: Σ α·margin, which is wᵀ(Σ α y x). */
export const SUMS_ALPHA_MARGIN = 16
/** f64: rows on the right side. */
export const SUMS_CORRECT = 24
/** f64: rows with α > 0. */
export const SUMS_SUPPORT = 32
export const SUMS_BYTES = 40

/** How many sums there are, f64 each. */
export const SUMS_COUNT = 5
