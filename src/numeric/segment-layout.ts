// Byte layouts of a segment, the unit that block files are made of, and of what its encoder and decoder are given.
// docs/block-store.md explains them. Made by `npm run layouts` from the tables in structures/: change those. Integer
// constants only, for both compilers read this file.

// --- Segment header. Little-endian, no alignment.
/** u32: SEGMENT_MAGIC_VALUE, "SPSG" as bytes. */
export const SEGMENT_MAGIC = 0
/** u16: SEGMENT_VERSION_VALUE, or SEGMENT_VERSION_WEIGHTED where rows have weights. */
export const SEGMENT_VERSION = 4
/** u16: SEGMENT_ORDER_VALUE; bytes 02 01 when written little-endian. */
export const SEGMENT_ORDER = 6
/** u8: SEGMENT_FLAG_ bits. */
export const SEGMENT_FLAGS = 8
/** u8: codec of row lengths: one of the LENGTHS_ constants. */
export const SEGMENT_LENGTH_CODEC = 9
/** u8: codec of positions: one of the POSITIONS_ constants. */
export const SEGMENT_POSITION_CODEC = 10
/** u8: codec of labels: one of the LABELS_ constants. */
export const SEGMENT_LABEL_CODEC = 11
/** u8: codec of feature numbers: one of the INDICES_ constants. */
export const SEGMENT_INDEX_CODEC = 12
/** u8: codec of values: one of the VALUES_ constants. */
export const SEGMENT_VALUE_CODEC = 13
/** u8: bytes of a value in the batch that went in, 4 or 8. */
export const SEGMENT_VALUE_BYTES = 14
/** u8: bytes of a value in the payload: 4 where f32 holds every value of an f64 batch exactly. */
export const SEGMENT_STORED_BYTES = 15
/** u32: rows, at least 1. */
export const SEGMENT_ROWS = 16
/** u32: features of the batch, one more than its largest feature number. */
export const SEGMENT_FEATURES = 20
/** u64: nonzeros. */
export const SEGMENT_NONZEROS = 24
/** u64: number, in the whole input, of the row that position 0 stands for. */
export const SEGMENT_BASE_POSITION = 32
/** u64: bytes of payload that follow this header. */
export const SEGMENT_PAYLOAD_BYTES = 40
/** u64: bytes of payload before compression; the same as above when there is none. */
export const SEGMENT_RAW_BYTES = 48
/** u32: number of the block that this segment belongs to. */
export const SEGMENT_BLOCK = 56
/** u8: codec of the weights of rows, where there are any: one of the LABELS_ constants. */
export const SEGMENT_WEIGHT_CODEC = 60
/** u64: XXH64 of the payload as stored. The three bytes before it are zero. */
export const SEGMENT_PAYLOAD_HASH = 64
/** u64: XXH64 of the header's bytes before this one. */
export const SEGMENT_HEADER_HASH = 72
export const SEGMENT_HEADER_BYTES = 80

export const SEGMENT_MAGIC_VALUE = 0x47535053
export const SEGMENT_VERSION_VALUE = 1
/** Of a segment whose rows have weights: readers that know none refuse it. */
export const SEGMENT_VERSION_WEIGHTED = 2
export const SEGMENT_ORDER_VALUE = 0x0102
/** The payload is one zstd frame. */
export const SEGMENT_FLAG_ZSTD = 1
/** A section of weights follows the values. */
export const SEGMENT_FLAG_WEIGHTS = 2
/** What one segment may hold: bounds the memory that a damaged header can ask for. */
export const SEGMENT_MOST_ROWS = 0x1000000
export const SEGMENT_MOST_NONZEROS = 0x8000000

// --- Codecs.
/** Every row has the same number of entries: one u32. */
export const LENGTHS_EQUAL = 0
/** A packed stream of row lengths. */
export const LENGTHS_PACKED = 1

/** First position (u32); each next row is one further. */
export const POSITIONS_CONSECUTIVE = 0
/** A packed stream of gaps. */
export const POSITIONS_PACKED = 1

/** One f64. */
export const LABELS_CONSTANT = 0
/** u8 count − 1, that many f64, then codes. */
export const LABELS_CODED = 1
/** One f64 a row. */
export const LABELS_RAW = 2

/** Row of n entries: features 0 to n − 1. No bytes. */
export const INDICES_FULL = 0
/** u32 width, then ceil(width / 8) bytes a row, a bit a feature. */
export const INDICES_BITMAP = 1
/** A packed stream of gaps between feature numbers. */
export const INDICES_GAPS = 2
/** Intervals of the features' space, coded steps from interval to interval, places within the intervals. */
export const INDICES_INTERVALS = 3

/** One value. */
export const VALUES_CONSTANT = 0
/** u16 count − 1, that many values, then codes. */
export const VALUES_CODED = 1
/** u8 a row: size of the row's dictionary, 0 for none; then for each row its dictionary and codes, or its values. */
export const VALUES_ROW_CODED = 2
/** Values as they are. */
export const VALUES_RAW = 3
/** Every row has one value: u16 count − 1, that many values, then a code for each row. */
export const VALUES_BY_ROW = 4

// --- The head of an intervals section: u8 bits of the space, u16 intervals, u16 steps, u32 bytes of each of four
// streams of steps, u32 bytes of places. Then u8 widths, code lengths of 4 bits, the four streams, the places.
export const INTERVALS_HEADER_BYTES = 25
export const INTERVALS_MOST = 1024
export const INTERVALS_MOST_CODE_BITS = 12

// --- What encodeSegment is given.
/** u32: address of the batch. */
export const ENCODE_BATCH = 0
/** u32: address of u32[rows], numbers of the batch's rows that go into this segment, rising. */
export const ENCODE_ROW_LIST = 4
/** u32: rows of the segment. */
export const ENCODE_ROWS = 8
/** u32: nonzeros of the segment. */
export const ENCODE_NONZEROS = 12
/** u32: position of the batch's first row in its chunk. */
export const ENCODE_FIRST_POSITION = 16
/** u32: number of the block. */
export const ENCODE_BLOCK = 20
/** u32: address of the segment, header, then payload. */
export const ENCODE_OUT = 24
/** u32: address of u32[nonzeros + 4]. */
export const ENCODE_INDICES = 28
/** u32: address of u32[nonzeros + 4]. */
export const ENCODE_GAPS = 32
/** u32: address of u32[max(nonzeros, rows) + 4]. */
export const ENCODE_WORK = 36
/** u32: address of f64[nonzeros + 2], or f32, as the batch has them. */
export const ENCODE_VALUES = 40
/** u32: address of u16[max(nonzeros, rows) + 4]. */
export const ENCODE_CODES = 44
/** u32: address of u32[rows + 4]. */
export const ENCODE_LENGTHS = 48
/** u32: address of ENCODE_HASH_BYTES bytes, zeros at first: the dictionary of values. */
export const ENCODE_HASH = 52
/** u32: address of u32[256], width and code tables. */
export const ENCODE_TABLES = 56
/** u32: address of ENCODE_INTERVALS_BYTES bytes, scratch. */
export const ENCODE_INTERVALS = 60
/** u32: generation of the value hash (in and out). */
export const ENCODE_GENERATION = 64
export const ENCODE_BYTES = 80

/** Slots of 16 bytes: u64 value bits, u32 code, u32 generation. */
export const ENCODE_HASH_SLOTS = 65536
export const ENCODE_HASH_BYTES = 1048576
/** Most entries of a segment's value dictionary: half of the slots. */
export const ENCODE_MOST_CODES = 32768

// --- What stands at ENCODE_INTERVALS: scratch of cutting the space of features into intervals.
/** u32[4096]: a sample of feature numbers. */
export const CUT_SAMPLED = 0
/** u32[4096]: room to sort it. */
export const CUT_SORTED = 16384
/** u32[256]: counts of bytes, for sorting. */
export const CUT_BUCKETS = 32768
/** u32[1024]: where intervals start. */
export const CUT_STARTS = 33792
/** u32[1024]: how often each step is taken. */
export const CUT_HISTOGRAM = 37888
/** u16[1024]: codes of the steps. */
export const CUT_CODES = 41984
/** u8[1024]: bits of a place in each interval. */
export const CUT_WIDTHS = 44032
/** u8[1024]: bits of the code of each step. */
export const CUT_BITS = 45056
export const ENCODE_INTERVALS_BYTES = 46080

// --- What stands at ENCODE_TABLES: scratch of packing a stream.
/** u32[33]: how many numbers have so many bits. */
export const STREAM_HISTOGRAM = 0
/** u8[33]: the code of a width. */
export const STREAM_CODES = 256
/** u8[4]: the widths. */
export const STREAM_WIDTHS = 320
/** u32[33]: a second histogram: neighbours of equal width would otherwise wait for each other's store. */
export const STREAM_SECOND = 384
export const ENCODE_TABLE_BYTES = 1024

// --- What decodeSegment is given besides header, payload and batch: scratch that it owns.
/** u32: widths of the last tables, so that they are made once for a run of alike segments. */
export const DECODE_WIDTHS = 0
/** u32: 1 once the tables are valid. */
export const DECODE_VALID = 4
/** u8[256]: bytes of a group, by its control byte; DECODE_WIDE is added when a lane is wider than 25 bits. */
export const DECODE_GROUP_BYTES = 16
/** v128[768]: byte shuffle, multiplier, mask. */
export const DECODE_TABLES = 272
/** u64[256]: dictionary of values, padded to a power of two: up to 256 of 8 bytes. */
export const DECODE_DICTIONARY = 12560
/** u16[4096]: step << 6 | bits, by the next 12 bits of a stream of steps. */
export const DECODE_STEPS = 14608
/** u64[1024]: where intervals start, and above that how wide they are. */
export const DECODE_STARTS = 22800
export const DECODE_BYTES = 30992

export const DECODE_WIDE = 64

// --- Why decodeSegment refuses a segment.
export const DECODE_ERROR_TRUNCATED = 1
export const DECODE_ERROR_TRAILING = 2
export const DECODE_ERROR_WIDTH = 3
export const DECODE_ERROR_LENGTHS = 4
export const DECODE_ERROR_ROOM = 5
export const DECODE_ERROR_INDEX = 6
export const DECODE_ERROR_VALUE_CODE = 7
export const DECODE_ERROR_LABEL_CODE = 8
export const DECODE_ERROR_CODEC = 9
export const DECODE_ERROR_POSITION = 10
export const DECODE_ERROR_WEIGHT = 11
