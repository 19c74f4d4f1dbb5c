// Batches, and the states of parsers, expansions and packers: a part of layouts.ts.
import type { Part } from './structure.ts'

const PARSE_ERROR_BYTES = 16
const PARSE_ERROR_ROOM = 16

export const batches: readonly Part[] = [
  {
    structure: 'Batch',
    prefix: 'BATCH_',
    title:
      'A batch: rows as a parser or decoder leaves them (compressed sparse rows), before they are packed or encoded.',
    fields: [
      ['ROWS', 'u32', 'rows.'],
      ['NONZEROS', 'u32', 'nonzeros.'],
      ['STARTS', 'address of u32[rows + 1]', 'where each row starts among the entries.'],
      [
        'LABELS',
        'address of f64[rows]',
        'the labels. In place of a label of text stands its code: XXH64 of its bytes with the bits of LABEL_TEXT_UPPER set in the upper half, which no number has. Loops must move labels as bits: arithmetic may change a NaN.',
      ],
      ['INDICES', 'address of u32[nonzeros]', 'zero-based feature numbers, rising within a row.'],
      ['VALUES', 'address of f32[nonzeros] or f64[nonzeros]'],
      ['VALUE_BYTES', 'bytes', '4 when values are f32, 8 when they are f64.'],
      ['FEATURES', 'u32', 'features seen: one more than the largest feature number, explicit zeros included.'],
      ['ROW_CAPACITY', 'u32', 'room for so many rows.'],
      ['NONZERO_CAPACITY', 'u32', 'room for so many nonzeros.'],
      ['LABEL_AT', 'address of u32[rows]', "where each row's label stands in the text."],
      [
        'UPPER',
        'address of u32[nonzeros]',
        'the upper halves of feature numbers that may pass 2^32, or 0. Only expansions that hash them afterwards make such.',
      ],
      ['WEIGHTS', 'address of f64[rows]', 'weights of the rows, or room for them; 0 where there is none.'],
      ['WEIGHTED', 'u32', '1 when the rows have those weights; else each counts once.'],
    ],
    size: { bytes: 64 },
  },
  {
    structure: 'Parse',
    prefix: 'PARSE_',
    title: 'The state of a text parser between calls.',
    fields: [
      ['CURSOR', 'address of the next byte to parse', 'in and out.'],
      ['END', 'address of the end of the text', 'The byte before it is a line feed, 32 readable bytes follow it.'],
      ['INDEX_BASE', 'u32', 'number that the file gives to its first feature, 0 or 1.'],
      ['SKIP_BAD', 'u32', '1 to step over bad rows, 0 to stop at the first.'],
      ['LINES', 'u32', 'lines finished so far (in and out).'],
      ['BAD_ROWS', 'u32', 'bad rows so far (in and out).'],
      [
        'ERRORS',
        `u32[${(PARSE_ERROR_ROOM * PARSE_ERROR_BYTES) / 4}]`,
        "the first PARSE_ERROR_ROOM errors: code, line, address of the offending byte, address of the line's start.",
      ],
      ['ZEROS', 'u32', 'explicit zero values dropped so far (in and out).'],
      [
        'SLOW_COUNT',
        'u32',
        'values that need the slow, exact conversion (only when values are f64): entry number and text address.',
      ],
      ['SLOW', 'address of the list of such values', 'two u32 each.'],
      ['SLOW_CAPACITY', 'u32', 'room in that list; when it is full the parser returns early.'],
      ['NEEDS_ROOM', 'u32', '1 when the next row alone is too long for the batch, and a longer one may be read (out).'],
    ],
    size: { bytes: 320 },
  },
  {
    constants: [
      ['PARSE_ERROR_BYTES', PARSE_ERROR_BYTES],
      ['PARSE_ERROR_ROOM', PARSE_ERROR_ROOM],
    ],
  },
  {
    constants: [
      ['PARSE_ERROR_LABEL', 1],
      ['PARSE_ERROR_INDEX', 2],
      ['PARSE_ERROR_INDEX_RANGE', 3],
      ['PARSE_ERROR_INDEX_ZERO', 4],
      ['PARSE_ERROR_COLON', 5],
      ['PARSE_ERROR_VALUE', 6],
      ['PARSE_ERROR_NOT_FINITE', 7],
      ['PARSE_ERROR_DUPLICATE', 8],
      ['PARSE_ERROR_UNSORTED', 9],
      ['PARSE_ERROR_TOO_LARGE', 10],
      ['PARSE_ERROR_AFTER_LABEL', 11],
      ['PARSE_ERROR_AFTER_VALUE', 12],
      ['PARSE_ERROR_TOO_MANY_ENTRIES', 13],
      ['PARSE_ERROR_MISSING_VALUE', 14],
      ['PARSE_ERROR_MISSING_STRING', 15],
      ['PARSE_ERROR_LETTER', 16],
      ['PARSE_ERROR_STRING_LENGTH', 17],
      ['PARSE_ERROR_AFTER_STRING', 18],
      ['PARSE_ERROR_LABEL_LENGTH', 19],
      ['PARSE_ERROR_LABEL_BYTE', 20],
    ],
  },
  {
    constants: [
      ['LABEL_TEXT_UPPER', '0x7ff80000', 'The upper half of a quiet NaN.'],
      ['LONGEST_LABEL', 255, 'Bytes of the longest label of text.'],
      ['LONGEST_STRING', 1048576, 'Letters of the longest string that is read.'],
    ],
  },
  {
    structure: 'Expand',
    prefix: 'EXPAND_',
    title:
      'The state of an expansion: rows of one batch become rows of another, as many at a time as that has room for.',
    fields: [
      ['ROW', 'u32', 'the next row to be read (in and out).'],
      [
        'NEEDED',
        'u32',
        'entries that there must be room for, when the next row does not even fit alone (out); else 0.',
      ],
      ['ERROR', 'u32', 'one of the EXPAND_ERROR_ constants (out); EXPAND_ROW is the row.'],
      ['DEGREE', 'u32', 'weighted degree: the degree.'],
      ['LETTERS', 'u32', 'weighted degree: the letters of the alphabet.'],
      ['CODES', 'address of u8[256]', 'weighted degree: the code of each byte.'],
      ['BITS', 'u32', 'hashing: bits of the new feature numbers.'],
      ['SCRATCH', 'address of scratch memory', "for hashing rows of the batch's capacity."],
      ['TABLE', 'address of f64[(bins + 1) · width]', 'table: what stands at bin k is for the value k / bins.'],
      ['WIDTH', 'u32', 'table: how many entries one entry becomes.'],
      ['BINS', 'u32', 'table: the bins.'],
      ['BEYOND', 'u32', 'table: one of the EXPAND_BEYOND_ constants, for values below 0, close to 0 and above 1.'],
      ['PERIOD', 'f64', 'table, homogeneous: the period of the map.'],
      ['VALUE', 'f64', 'the value that EXPAND_ERROR_NEGATIVE is about (out).'],
    ],
  },
  {
    constants: [
      ['EXPAND_SCRATCH_BYTES', 8192, 'Bytes of that scratch memory besides EXPAND_SCRATCH_ENTRY for each entry.'],
      ['EXPAND_SCRATCH_ENTRY', 16],
      ['EXPAND_NO_LETTER', 255, 'The code of a byte outside the alphabet.'],
      [
        'EXPAND_BEYOND_CLIP',
        0,
        'Values above 1 count as 1; values nearest to 0 and below, and what is no number, are left out.',
      ],
      [
        'EXPAND_BEYOND_HOMOGENEOUS',
        1,
        'Values above 1 are worked out; values above 0 are never taken for 0; below 0 is an error, and so is what is no number.',
      ],
      ['EXPAND_BEYOND_ODD', 2, 'As the first, but a negative value gives the negative of its opposite.'],
    ],
  },
  {
    constants: [
      ['EXPAND_ERROR_FEATURE', 1, 'A feature number passes 2^32 − 3.'],
      ['EXPAND_ERROR_VALUE', 2, 'A product passes the largest number that values can hold.'],
      ['EXPAND_ERROR_LENGTH', 3, 'A row becomes longer than EXPAND_MOST_ENTRIES.'],
      ['EXPAND_ERROR_NEGATIVE', 4, 'A value is below 0 or no number, and must not be.'],
      ['EXPAND_MOST_ENTRIES', 67108864],
    ],
  },
  {
    structure: 'Pack',
    prefix: 'PACK_',
    title: 'The state of a packer: where row records of one thread go.',
    fields: [
      ['NEXT', 'address of the next free byte of the present extent'],
      ['END', 'address of the end of the present extent'],
      ['TABLE', 'address of u32[]', 'receives the address of every packed row.'],
      ['UNIT', 'u32', '1 makes every row unit length.'],
      [
        'PLAIN',
        'u32',
        '1 keeps every row as indices and values (scaling will change them); 2 makes no dictionaries, which cost more than they save when rows are packed for a few visits only.',
      ],
      ['CLASSES', 'address of u32[rows]', 'class numbers.'],
      ['HASH', 'address of PACK_HASH_SLOTS × 8 bytes', 'scratch of the value dictionary.'],
      ['ROWS', 'u32', 'rows packed of the present batch (in and out).'],
      ['WRITTEN', 'bytes', 'of records written so far (in and out).'],
      ['FIXED', 'u32', '1 when the extent is all there is: no room beyond it is taken from the arena.'],
      ['BINS', 'u32', 'values, which lie in [0, 1], become numbers of so many bins; 0 for none.'],
    ],
    size: { bytes: 64 },
  },
  {
    constants: [['PACK_HASH_SLOTS', 1024]],
  },
]
