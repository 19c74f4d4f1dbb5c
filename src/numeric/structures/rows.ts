// The control page, row records, and what is gathered of their values: a part of layouts.ts.
import type { Part } from './structure.ts'

export const rows: readonly Part[] = [
  {
    structure: 'ControlPage',
    accessors: false,
    prefix: '',
    title: 'The control page, at the bottom of the memory.',
    fields: [
      [
        'ARENA_NEXT',
        'address of the next free byte of the arena',
        'which threads move by compare and swap.',
        { at: 16 },
      ],
      ['SPACE_TABLE', 'address of f64[][width]', 'what each bin of binned rows stands for.', { at: 24 }],
      ['SPACE_WIDTH', 'u32', 'numbers that each bin has in that table.'],
      ['SPACE_FACTORS', 'address of f64[]', 'the factor of each feature of scaled rows.'],
    ],
    size: {
      name: 'ARENA_START',
      bytes: 65536,
      says: 'First byte the arena hands out. Below it: this page and the constants of the compiled code.',
    },
  },
  {
    title:
      'The most that a packed row of n entries takes: ROW_BOUND bytes and 8 for each entry (12 when values are f64); a batch may add one dictionary of BATCH_BOUND bytes. Rooms for blocks are reckoned by it.',
    constants: [
      ['ROW_BOUND', 48],
      ['BATCH_BOUND', 1040],
    ],
  },
  {
    constants: [
      [
        'LAYOUT_VERSION',
        2,
        'The version of what training states hold: row records, dual variables, working sets, and the JSON of a run. It rises with every change of one of these, so that no run goes on from memory that means something else.',
      ],
    ],
  },
  {
    structure: 'Row',
    accessors: false,
    prefix: 'ROW_',
    title: 'A row record: what solvers and certificates read. Aligned to 8 bytes.',
    fields: [
      ['COUNT', 'u32', 'number of entries that follow; for a dense row, its length.'],
      ['KIND', 'u32', 'one of the ROW_KIND_ constants.'],
      ['SCALE', 'f64', 'every stored value is multiplied by it, so making a row unit length rewrites no value.'],
      ['NORM', 'f64', 'squared length of the row, scale included, bias not.'],
      ['CLASS', 'u32', "class number of the row's label."],
      ['DICTIONARY', 'address of the f32 dictionary of a coded row'],
    ],
    size: {
      name: 'ROW_ENTRIES',
      says: 'Indices (u32 each) start here; a dense row has its values here. Values or codes follow the indices.',
    },
  },
  {
    constants: [
      [
        'ROW_ONES',
        28,
        'u32, where a coded row has its dictionary: so many entries at the end of a SCALED_F32 row are 1, and so are their factors.',
      ],
    ],
  },
  {
    constants: [
      ['ROW_KIND_F32', 0, 'u32 indices, then f32 values.'],
      ['ROW_KIND_CONSTANT', 1, 'u32 indices; every value is 1 before scaling.'],
      ['ROW_KIND_CODED', 2, 'u32 indices, then u8 codes into the dictionary.'],
      ['ROW_KIND_DENSE', 3, 'f32 values of features 0, 1, 2, …; no indices.'],
      ['ROW_KIND_F64', 4, 'u32 indices, padding to 8 bytes, f64 values.'],
      ['ROW_KIND_BINS8', 5, 'u32 indices, then bin numbers of one or two bytes: vectors of the table at SPACE_TABLE.'],
      ['ROW_KIND_BINS16', 6],
      ['ROW_KIND_SHORT_BINS8', 9, 'The same with u16 indices, where those suffice.'],
      ['ROW_KIND_SHORT_BINS16', 10],
      ['ROW_KIND_DENSE_BINS8', 7, 'Bin numbers of features 0, 1, 2, …; no indices; bin 0 is an absent entry.'],
      ['ROW_KIND_DENSE_BINS16', 8],
      [
        'ROW_KIND_SCALED_F32',
        11,
        "As F32 and DENSE, and each value is multiplied by its feature's factor, of those at SPACE_FACTORS.",
      ],
      ['ROW_KIND_SCALED_DENSE', 12],
    ],
  },
  {
    structure: 'Moments',
    prefix: 'MOMENTS_',
    title: 'Mean and spread of the values that a feature has, zeros left out: a record for each feature.',
    fields: [
      ['MEAN', 'f64', 'the mean of values times 2^(1023 − exponent).'],
      ['SQUARES', 'f64', 'the sum of squared distances from the mean, of values times 2^(1023 − exponent).'],
      ['COUNT', 'u32', 'how many values there were.'],
      ['EXPONENT', 'u32', 'an exponent as f64 has it, 1 to 2045, near that of the values.'],
    ],
  },
  {
    title:
      'Features that data and models can have: their numbers are u32 and the largest one is kept free, so that "one past the last" is a u32 too.',
    constants: [['MOST_FEATURES', '0xfffffffe']],
  },
]
