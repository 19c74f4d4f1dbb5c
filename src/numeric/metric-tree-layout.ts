// Byte layouts of the pages of a metric tree, and of a query that they are asked. Made by `npm run layouts` from the
// tables in structures/: change those. Integer constants only, for both compilers read this file.

// --- How a page begins, whatever it holds. Offsets in a page count from here, so a page may lie anywhere.
/** u32: one of the TREE_KIND_ constants. */
export const TREE_KIND = 0
/** u32: rows of a leaf, or children of an inner node, that follow. */
export const TREE_COUNT = 4
/** u32, bytes: of the whole page. */
export const TREE_LENGTH = 8
/** u32: 0. */
export const TREE_SPARE = 12
export const TREE_ENTRIES = 16

/** TREE_ROW_ entries, then row records. */
export const TREE_KIND_LEAF = 0
/** CHILD_ entries, then the row records of their centres. */
export const TREE_KIND_INNER = 1
/** In place of a class: rows of any class. */
export const TREE_MIXED = 0xffffffff

// --- A row of a leaf.
/** u32: its number among the rows of its block. */
export const TREE_ROW_NUMBER = 0
/** u32: offset of its record in the page. */
export const TREE_ROW_RECORD = 4
export const TREE_ROW_BYTES = 8

// --- A child of an inner node: a ball that holds its rows, and the page to find them in.
/** f64: no row is further from the centre. */
export const CHILD_RADIUS = 0
/** f64: no row makes a larger angle with the centre. */
export const CHILD_ANGLE = 8
/** f64: length of the shortest row. */
export const CHILD_SHORTEST = 16
/** f64: length of the longest row. */
export const CHILD_LONGEST = 24
/** u64: offset of its page in the file. */
export const CHILD_PAGE = 32
/** u64: XXH64 of that page. */
export const CHILD_CHECKSUM = 40
/** u32, bytes: of that page. */
export const CHILD_PAGE_BYTES = 48
/** u32: rows below it. */
export const CHILD_ROWS = 52
/** u32: class number of all of them, or TREE_MIXED. */
export const CHILD_CLASS = 56
/** u32: offset of the centre's record in this page. */
export const CHILD_CENTRE = 60
/** u32: place of its first row among the block's rows in the order of the leaves. */
export const CHILD_FIRST = 64
/** u32: offset in this page of f32[2 × features], the least and then the largest value of each feature among its rows;
 *  0 for none. */
export const CHILD_BOX = 68
/** u32: 1 for a leaf. */
export const CHILD_LEAF = 72
/** u32: 0. */
export const CHILD_SPARE = 76
export const CHILD_BYTES = 80

// --- How far rows lie from a centre.
/** f64: largest squared distance. */
export const SPREAD_FURTHEST = 0
/** f64: smallest cosine of an angle with the centre; rows without entries have none. */
export const SPREAD_LEAST_COSINE = 8
/** f64: smallest squared length. */
export const SPREAD_SHORTEST = 16
/** f64: largest squared length. */
export const SPREAD_LONGEST = 24
export const SPREAD_BYTES = 32

// --- A query: rows whose margin y (wᵀx + bias) lies below HIGH, and above LOW by the anchor, or by w without one.
/** u32: address of the weights w. */
export const QUERY_WEIGHTS = 0
/** u32: address of the weights that LOW is about, or 0 for w itself. */
export const QUERY_ANCHOR = 4
/** f64: what the bias adds to every score. */
export const QUERY_BIAS = 8
/** f64: the same by the anchor. */
export const QUERY_ANCHOR_BIAS = 16
/** f64: ‖w‖, the bias not counted. */
export const QUERY_LENGTH = 24
/** f64: the same of the anchor. */
export const QUERY_ANCHOR_LENGTH = 32
/** f64: margins are below it. */
export const QUERY_HIGH = 40
/** f64: margins are above it; −∞ for no limit. */
export const QUERY_LOW = 48
/** u32: class number that is positive. */
export const QUERY_POSITIVE = 56
/** u32: 1 when rows are taken as if they were unit length. */
export const QUERY_UNIT = 60
/** u32: 1 when weights are f32. */
export const QUERY_NARROW = 64
/** u32: number of the first row of the block that a page is of. */
export const QUERY_FIRST_ROW = 68
/** u32: address of a bitmap over all rows, rows that are not wanted; 0 for none. */
export const QUERY_TAKEN = 72
/** u32: address of f64[rows], where it is not 0, rows are wanted whose number there is not 0, whatever their margin. */
export const QUERY_ALPHA = 76
/** u32: address of u32[], places in a leaf of the rows that were found (out). */
export const QUERY_FOUND = 80
/** u32: address of f64[], their margins (out). */
export const QUERY_MARGINS = 84
/** u32: address of a bitmap over all rows, rows that were looked at are marked here; 0 for nowhere. */
export const QUERY_TOUCHED = 88
/** u32: address of a bitmap over all rows, in the order of the leaves, of rows that are left out; 0 for none. */
export const QUERY_RESTING = 92
/** f64: rows whose margin is so far above HIGH are marked as resting. */
export const QUERY_REST_BEYOND = 96
/** u32: of the first row of the leaf, in that order. */
export const QUERY_PLACE = 104
/** u32: weights there are, the bias not counted. */
export const QUERY_FEATURES = 108
/** f64: leaves that lie so far beyond the band are left out. */
export const QUERY_REACH = 112
/** u32: address of BIN_ records, nodes that wait, as a binary heap. */
export const QUERY_QUEUE = 120
/** u32: how many of them there are. */
export const QUERY_WAITING = 124
/** u32: rows of nodes that cannot hold a row of the band: the search counts them here. */
export const QUERY_ROWS_OUTSIDE = 128
/** u32: rows of nodes that rest, likewise. */
export const QUERY_ROWS_RESTING = 132
/** u32: rows of leaves beyond the reach, likewise. */
export const QUERY_ROWS_LEFT_OUT = 136
/** u32: 0. */
export const QUERY_SPARE = 140
export const QUERY_BYTES = 144

// --- A node that waits to be looked at.
/** f64: how far it lies beyond the band: from 0, inside, to 1, where no row of it can be inside. */
export const BIN_BEYOND = 0
/** f64: decides between nodes that lie equally far. */
export const BIN_TURN = 8
/** f64: offset of its page in the file. */
export const BIN_PAGE = 16
/** u64: XXH64 of that page. */
export const BIN_CHECKSUM = 24
/** u32, bytes: of that page. */
export const BIN_PAGE_BYTES = 32
/** u32: rows below it. */
export const BIN_ROWS = 36
/** u32: place of its first row among the block's rows in the order of the leaves. */
export const BIN_FIRST = 40
/** u32: 0. */
export const BIN_SPARE = 44
export const BIN_BYTES = 48
