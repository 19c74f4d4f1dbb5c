// Byte layout of tables: what a column of delimited text becomes, and what is learnt of columns. Made by `npm run
// layouts` from the tables in structures/: change those. Integer constants only, for both compilers read this file.

// --- How the rows of a table are parsed.
/** u32: columns of a row. */
export const TABLE_COLUMNS = 0
/** u32: address of COLUMN_BYTES a column, in the order of the text. */
export const TABLE_COLUMN_AT = 4
/** u32: the byte between two cells. */
export const TABLE_DELIMITER = 8
/** u32: address of bytes, room for cells whose doubled quotes are undone, as much as the text. */
export const TABLE_SCRATCH = 12
/** u32: address of bytes, room for labels, each closed by a line feed. */
export const TABLE_LABEL_TEXTS = 16
/** u32: address of u32[rows], the line of each row (out). */
export const TABLE_LINE_OF = 20
/** u32: address of f64[rows], the weight of each row (out); 0 where no column has it. */
export const TABLE_WEIGHTS = 24
/** u32: 1 where a row without a label is bad. */
export const TABLE_NEEDS_LABEL = 28
/** u32: address of CELLS_BYTES a column, where rows come as columns of cells, not as text. */
export const TABLE_CELLS = 32
export const TABLE_BYTES = 36

// --- The cells of a column, where a file has columns.
/** u32: one of the constants NO_CELLS, NUMBER_CELLS and TEXT_CELLS. */
export const CELLS_KIND = 0
/** u32: address of eight bytes a row, f64, NaN where it is missing; or the address and the length of a text. */
export const CELLS_AT = 4
export const CELLS_BYTES = 8

// --- What the cells of a column become.
/** u32: one of the ROLE_ constants. */
export const COLUMN_ROLE = 0
/** u32: the first feature of the column. */
export const COLUMN_FEATURE = 4
/** u32: the feature of a missing cell, or NO_FEATURE. */
export const COLUMN_MISSING = 8
/** u32: address of u32[mask + 1], a hash table of the values: places in the list and 1, or 0. */
export const COLUMN_TABLE = 12
/** u32: slots of that table less 1; they are a power of two. */
export const COLUMN_MASK = 16
/** u32: address of two u32 a value, the list of values: address and length of each. */
export const COLUMN_ENTRIES = 20
/** u32: of a column that is hashed. */
export const COLUMN_BITS = 24
export const COLUMN_BYTES = 32

// --- What is learnt of a column.
/** u32: one of the LOOK_ constants. */
export const SCANNED_LOOK = 0
/** u32: cells that are missing (out). */
export const SCANNED_MISSING = 4
/** u32: cells that are numbers (out). */
export const SCANNED_NUMBERS = 8
/** u32: other cells (out). */
export const SCANNED_TEXTS = 12
/** u32: address of the first of them, (out). */
export const SCANNED_FIRST_TEXT = 16
/** u32, bytes: of it (out). */
export const SCANNED_FIRST_BYTES = 20
/** u32: and its line (out). */
export const SCANNED_FIRST_LINE = 24
/** u32: address of u32[mask + 1], as in a column. */
export const SCANNED_TABLE = 28
/** u32:  */
export const SCANNED_MASK = 32
/** u32: address of two u32 a value, the upper bit of a length marks a value whose quotes are doubled. */
export const SCANNED_ENTRIES = 36
/** u32: values in the list (in and out). */
export const SCANNED_COUNT = 40
/** u32: values that the list and the table have room for. */
export const SCANNED_ROOM = 44
export const SCANNED_BYTES = 48

export const ROLE_IGNORED = 0
export const ROLE_LABEL = 1
export const ROLE_WEIGHT = 2
export const ROLE_NUMBER = 3
/** A feature for each value of a list; others have none. */
export const ROLE_CATEGORY = 4
/** A feature by the hash of the value. */
export const ROLE_HASHED = 5
/** Words that occur, by their hashes. */
export const ROLE_WORDS = 6
export const NO_FEATURE = 0xffffffff

/** Nobody needs the column. */
export const NO_CELLS = 0
export const NUMBER_CELLS = 1
export const TEXT_CELLS = 2
/** What checkColumns says where cells have to be read as text. */
export const UNFIT_CELLS = 0xffffffff

/** How a file has numbers. */
export const CELL_I8 = 0
export const CELL_U8 = 1
export const CELL_I16 = 2
export const CELL_U16 = 3
export const CELL_I32 = 4
export const CELL_U32 = 5
export const CELL_I64 = 6
export const CELL_U64 = 7
export const CELL_F32 = 8
export const CELL_F64 = 9
export const CELL_BIT = 10

/** Nothing is learnt. */
export const LOOK_AWAY = 0
/** Whether cells are numbers; values are listed from the first that is none. */
export const LOOK_KIND = 1
/** Values are listed. */
export const LOOK_VALUES = 2
/** Cells are counted, and no values are listed. */
export const LOOK_COUNT = 3
/** Values are to be listed, and some have been passed by (out). */
export const LOOK_AGAIN = 4

/** Errors: the column is in the upper bits, from TABLE_ERROR_COLUMN on. */
export const TABLE_ERROR_WIDTH = 41
export const TABLE_ERROR_OPEN_QUOTE = 42
export const TABLE_ERROR_AFTER_QUOTE = 43
export const TABLE_ERROR_NUMBER = 44
export const TABLE_ERROR_WEIGHT = 45
export const TABLE_ERROR_NO_LABEL = 46
export const TABLE_ERROR_LABEL = 47
/** Bits below the column. */
export const TABLE_ERROR_COLUMN = 8
