// Byte layouts of the working set of solver `stream`: rows that stay in memory while others come and go. Made by `npm
// run layouts` from the tables in structures/: change those. Integer constants only, for both compilers read this file.

// --- The working set. Rows stand in the table in the order of their addresses, without gaps between the records.
/** u32: address of the row records. */
export const WORKING_RECORDS = 0
/** u32, bytes: of room for them. */
export const WORKING_ROOM = 4
/** u32, bytes: of records in use. */
export const WORKING_USED = 8
/** u32: room for so many rows. */
export const WORKING_CAPACITY = 12
/** u32: rows there are. */
export const WORKING_COUNT = 16
/** u32: address of u32[capacity], the records of the rows. */
export const WORKING_TABLE = 20
/** u32: address of u32[capacity], the rows' numbers in the order of the store. */
export const WORKING_NUMBERS = 24
/** u32: address of the rows' dual variables. While a row is here, these are the true ones. */
export const WORKING_ALPHA = 28
/** u32, bytes: of a dual variable: 8, or 16 for the entropic dual. */
export const WORKING_STRIDE = 32
/** u32: address of f64[capacity], each row's gradient after its last visit (its margin, for the logistic loss). */
export const WORKING_GRADIENTS = 36
/** u32: address of a bitmap over all rows, which are here. */
export const WORKING_RESIDENT = 40
/** u32: address of the dual variables of all rows, in the order of the store. */
export const WORKING_ALL_ALPHA = 44
/** u32: address of the ledger, a record of LEDGER_BYTES for each block. */
export const WORKING_LEDGER = 48
/** u32: address of u32[blocks + 1], number of each block's first row, rows in all at the end. */
export const WORKING_FIRST_ROWS = 52
/** u32: blocks. */
export const WORKING_BLOCKS = 56
/** u32: how many of a ledger's radii are filled in. */
export const WORKING_RADII = 60
/** f64: rows at a bound whose gradient lies further beyond it leave. */
export const WORKING_EPSILON = 64
/** u64: state of the random numbers that choose whom else. */
export const WORKING_RANDOM = 72
/** f64: the first radius above 0; each next one is twice as large. */
export const WORKING_RADIUS = 80
/** f64: how far the last visit of new rows may have moved w, by its single steps (out). */
export const WORKING_MOVED = 88
/** u32: rows that left so far at their first visit. */
export const WORKING_DISMISSED = 96
/** u32: rows that left so far by the rule, later. */
export const WORKING_EVICTED = 100
/** u32: rows that left so far because they were drawn at random. */
export const WORKING_DRAWN = 104
/** u32: address of f64[capacity], the weights of the rows, or 0 where they have none. */
export const WORKING_WEIGHTS = 108
/** u32: the row where the next look for some near ones begins. */
export const WORKING_CURSOR = 112
export const WORKING_BYTES = 120

// --- A block's record in the ledger: what is known of its rows that are not in memory.
/** f64: their part of the dual objective. */
export const LEDGER_DUAL = 0
/** f64: how many have α > 0. */
export const LEDGER_SUPPORT = 8
/** f64: how many were on the right side when they were met. */
export const LEDGER_CORRECT = 16
/** f64[16]: the most they owe to the duality gap if w is within the k-th radius of where it was when they were met; the
 *  first radius is 0. */
export const LEDGER_OWED = 24
export const LEDGER_BYTES = 152

export const LEDGER_RADII = 16

// --- A dictionary that numbers features in the order in which they are met.
/** u32: features that have a number. */
export const DICTIONARY_COUNT = 0
/** u32: how many may get one. */
export const DICTIONARY_CAPACITY = 4
/** u32: address of u32[capacity], the features by their numbers. */
export const DICTIONARY_FEATURES = 8
/** u32: slots of the hash table, a power of two. */
export const DICTIONARY_SLOTS = 12
/** u32: address of u32[2 × most slots], a feature plus 1 and its number in each slot, or 0. */
export const DICTIONARY_TABLE = 16
/** u32: how many slots the table may grow to. */
export const DICTIONARY_MOST_SLOTS = 20
export const DICTIONARY_BYTES = 24
