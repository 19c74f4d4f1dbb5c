// The table of segment-layout.ts.
import type { LayoutFile } from './structure.ts'

const INTERVALS_MOST = 1024
/** Feature numbers that decide where intervals are cut. */
const SAMPLE = 4096

export const segment: LayoutFile = {
  file: 'segment-layout.ts',
  opening:
    'Byte layouts of a segment, the unit that block files are made of, and of what its encoder and decoder are given. docs/block-store.md explains them.',
  parts: [
    {
      structure: 'Segment',
      prefix: 'SEGMENT_',
      title: 'Segment header. Little-endian, no alignment.',
      fields: [
        ['MAGIC', 'u32', 'SEGMENT_MAGIC_VALUE, "SPSG" as bytes.'],
        ['VERSION', 'u16', 'SEGMENT_VERSION_VALUE, or SEGMENT_VERSION_WEIGHTED where rows have weights.'],
        ['ORDER', 'u16', 'SEGMENT_ORDER_VALUE; bytes 02 01 when written little-endian.'],
        ['FLAGS', 'u8', 'SEGMENT_FLAG_ bits.'],
        ['LENGTH_CODEC', 'u8', 'codec of row lengths: one of the LENGTHS_ constants.'],
        ['POSITION_CODEC', 'u8', 'codec of positions: one of the POSITIONS_ constants.'],
        ['LABEL_CODEC', 'u8', 'codec of labels: one of the LABELS_ constants.'],
        ['INDEX_CODEC', 'u8', 'codec of feature numbers: one of the INDICES_ constants.'],
        ['VALUE_CODEC', 'u8', 'codec of values: one of the VALUES_ constants.'],
        ['VALUE_BYTES', 'u8', 'bytes of a value in the batch that went in, 4 or 8.'],
        [
          'STORED_BYTES',
          'u8',
          'bytes of a value in the payload: 4 where f32 holds every value of an f64 batch exactly.',
        ],
        ['ROWS', 'u32', 'rows, at least 1.'],
        ['FEATURES', 'u32', 'features of the batch, one more than its largest feature number.'],
        ['NONZEROS', 'u64', 'nonzeros.'],
        ['BASE_POSITION', 'u64', 'number, in the whole input, of the row that position 0 stands for.'],
        ['PAYLOAD_BYTES', 'u64', 'bytes of payload that follow this header.'],
        ['RAW_BYTES', 'u64', 'bytes of payload before compression; the same as above when there is none.'],
        ['BLOCK', 'u32', 'number of the block that this segment belongs to.'],
        ['WEIGHT_CODEC', 'u8', 'codec of the weights of rows, where there are any: one of the LABELS_ constants.'],
        ['PAYLOAD_HASH', 'u64', 'XXH64 of the payload as stored. The three bytes before it are zero.', { at: 64 }],
        ['HEADER_HASH', 'u64', "XXH64 of the header's bytes before this one."],
      ],
      size: { name: 'SEGMENT_HEADER_BYTES' },
    },
    {
      constants: [
        ['SEGMENT_MAGIC_VALUE', '0x47535053'],
        ['SEGMENT_VERSION_VALUE', 1],
        ['SEGMENT_VERSION_WEIGHTED', 2, 'Of a segment whose rows have weights: readers that know none refuse it.'],
        ['SEGMENT_ORDER_VALUE', '0x0102'],
        ['SEGMENT_FLAG_ZSTD', 1, 'The payload is one zstd frame.'],
        ['SEGMENT_FLAG_WEIGHTS', 2, 'A section of weights follows the values.'],
        [
          'SEGMENT_MOST_ROWS',
          '0x1000000',
          'What one segment may hold: bounds the memory that a damaged header can ask for.',
        ],
        ['SEGMENT_MOST_NONZEROS', '0x8000000'],
      ],
    },
    {
      title: 'Codecs.',
      constants: [
        ['LENGTHS_EQUAL', 0, 'Every row has the same number of entries: one u32.'],
        ['LENGTHS_PACKED', 1, 'A packed stream of row lengths.'],
      ],
    },
    {
      constants: [
        ['POSITIONS_CONSECUTIVE', 0, 'First position (u32); each next row is one further.'],
        ['POSITIONS_PACKED', 1, 'A packed stream of gaps.'],
      ],
    },
    {
      constants: [
        ['LABELS_CONSTANT', 0, 'One f64.'],
        ['LABELS_CODED', 1, 'u8 count − 1, that many f64, then codes.'],
        ['LABELS_RAW', 2, 'One f64 a row.'],
      ],
    },
    {
      constants: [
        ['INDICES_FULL', 0, 'Row of n entries: features 0 to n − 1. No bytes.'],
        ['INDICES_BITMAP', 1, 'u32 width, then ceil(width / 8) bytes a row, a bit a feature.'],
        ['INDICES_GAPS', 2, 'A packed stream of gaps between feature numbers.'],
        [
          'INDICES_INTERVALS',
          3,
          "Intervals of the features' space, coded steps from interval to interval, places within the intervals.",
        ],
      ],
    },
    {
      constants: [
        ['VALUES_CONSTANT', 0, 'One value.'],
        ['VALUES_CODED', 1, 'u16 count − 1, that many values, then codes.'],
        [
          'VALUES_ROW_CODED',
          2,
          "u8 a row: size of the row's dictionary, 0 for none; then for each row its dictionary and codes, or its values.",
        ],
        ['VALUES_RAW', 3, 'Values as they are.'],
        ['VALUES_BY_ROW', 4, 'Every row has one value: u16 count − 1, that many values, then a code for each row.'],
      ],
    },
    {
      title:
        'The head of an intervals section: u8 bits of the space, u16 intervals, u16 steps, u32 bytes of each of four streams of steps, u32 bytes of places. Then u8 widths, code lengths of 4 bits, the four streams, the places.',
      constants: [
        ['INTERVALS_HEADER_BYTES', 25],
        ['INTERVALS_MOST', INTERVALS_MOST],
        ['INTERVALS_MOST_CODE_BITS', 12],
      ],
    },
    {
      structure: 'Encode',
      prefix: 'ENCODE_',
      title: 'What encodeSegment is given.',
      fields: [
        ['BATCH', 'address of the batch'],
        ['ROW_LIST', 'address of u32[rows]', "numbers of the batch's rows that go into this segment, rising."],
        ['ROWS', 'u32', 'rows of the segment.'],
        ['NONZEROS', 'u32', 'nonzeros of the segment.'],
        ['FIRST_POSITION', 'u32', "position of the batch's first row in its chunk."],
        ['BLOCK', 'u32', 'number of the block.'],
        ['OUT', 'address of the segment', 'header, then payload.'],
        ['INDICES', 'address of u32[nonzeros + 4]'],
        ['GAPS', 'address of u32[nonzeros + 4]'],
        ['WORK', 'address of u32[max(nonzeros, rows) + 4]'],
        ['VALUES', 'address of f64[nonzeros + 2]', 'or f32, as the batch has them.'],
        ['CODES', 'address of u16[max(nonzeros, rows) + 4]'],
        ['LENGTHS', 'address of u32[rows + 4]'],
        ['HASH', 'address of ENCODE_HASH_BYTES bytes', 'zeros at first: the dictionary of values.'],
        ['TABLES', 'address of u32[256]', 'width and code tables.'],
        ['INTERVALS', 'address of ENCODE_INTERVALS_BYTES bytes', 'scratch.'],
        ['GENERATION', 'u32', 'generation of the value hash (in and out).'],
      ],
      size: { bytes: 80 },
    },
    {
      constants: [
        ['ENCODE_HASH_SLOTS', 65536, 'Slots of 16 bytes: u64 value bits, u32 code, u32 generation.'],
        ['ENCODE_HASH_BYTES', 1048576],
        ['ENCODE_MOST_CODES', 32768, "Most entries of a segment's value dictionary: half of the slots."],
      ],
    },
    {
      structure: 'Cut',
      accessors: false,
      prefix: 'CUT_',
      title: 'What stands at ENCODE_INTERVALS: scratch of cutting the space of features into intervals.',
      fields: [
        ['SAMPLED', `u32[${SAMPLE}]`, 'a sample of feature numbers.'],
        ['SORTED', `u32[${SAMPLE}]`, 'room to sort it.'],
        ['BUCKETS', 'u32[256]', 'counts of bytes, for sorting.'],
        ['STARTS', `u32[${INTERVALS_MOST}]`, 'where intervals start.'],
        ['HISTOGRAM', `u32[${INTERVALS_MOST}]`, 'how often each step is taken.'],
        ['CODES', `u16[${INTERVALS_MOST}]`, 'codes of the steps.'],
        ['WIDTHS', `u8[${INTERVALS_MOST}]`, 'bits of a place in each interval.'],
        ['BITS', `u8[${INTERVALS_MOST}]`, 'bits of the code of each step.'],
      ],
      size: { name: 'ENCODE_INTERVALS_BYTES' },
    },
    {
      structure: 'Stream',
      accessors: false,
      prefix: 'STREAM_',
      title: 'What stands at ENCODE_TABLES: scratch of packing a stream.',
      fields: [
        ['HISTOGRAM', 'u32[33]', 'how many numbers have so many bits.'],
        ['CODES', 'u8[33]', 'the code of a width.', { at: 256 }],
        ['WIDTHS', 'u8[4]', 'the widths.', { at: 320 }],
        [
          'SECOND',
          'u32[33]',
          "a second histogram: neighbours of equal width would otherwise wait for each other's store.",
          { at: 384 },
        ],
      ],
      size: { name: 'ENCODE_TABLE_BYTES', bytes: 1024 },
    },
    {
      structure: 'Decode',
      accessors: false,
      prefix: 'DECODE_',
      title: 'What decodeSegment is given besides header, payload and batch: scratch that it owns.',
      fields: [
        ['WIDTHS', 'u32', 'widths of the last tables, so that they are made once for a run of alike segments.'],
        ['VALID', 'u32', '1 once the tables are valid.'],
        [
          'GROUP_BYTES',
          'u8[256]',
          'bytes of a group, by its control byte; DECODE_WIDE is added when a lane is wider than 25 bits.',
          { at: 16 },
        ],
        ['TABLES', `v128[${3 * 256}]`, 'byte shuffle, multiplier, mask.'],
        ['DICTIONARY', 'u64[256]', 'dictionary of values, padded to a power of two: up to 256 of 8 bytes.'],
        ['STEPS', 'u16[4096]', 'step << 6 | bits, by the next 12 bits of a stream of steps.'],
        ['STARTS', `u64[${INTERVALS_MOST}]`, 'where intervals start, and above that how wide they are.'],
      ],
    },
    {
      constants: [['DECODE_WIDE', 64]],
    },
    {
      title: 'Why decodeSegment refuses a segment.',
      constants: [
        ['DECODE_ERROR_TRUNCATED', 1],
        ['DECODE_ERROR_TRAILING', 2],
        ['DECODE_ERROR_WIDTH', 3],
        ['DECODE_ERROR_LENGTHS', 4],
        ['DECODE_ERROR_ROOM', 5],
        ['DECODE_ERROR_INDEX', 6],
        ['DECODE_ERROR_VALUE_CODE', 7],
        ['DECODE_ERROR_LABEL_CODE', 8],
        ['DECODE_ERROR_CODEC', 9],
        ['DECODE_ERROR_POSITION', 10],
        ['DECODE_ERROR_WEIGHT', 11],
      ],
    },
  ],
}
