// The table of generate-layout.ts.
import type { LayoutFile } from './structure.ts'

const COUNTS = 1024

export const generate: LayoutFile = {
  file: 'generate-layout.ts',
  opening: 'Byte layouts of the data generator: its plan, the groups of features, and what a thread works in.',
  parts: [
    {
      structure: 'Plan',
      prefix: 'PLAN_',
      title: 'The plan: what every thread reads and none writes.',
      fields: [
        ['KIND', 'u32', 'one of the PLAN_KIND_ constants.'],
        ['FEATURES', 'u32', 'features of a dense row.'],
        ['SEED', 'u64', 'the seed.'],
        ['POSITIVE', 'f64', 'share of rows whose hidden class is positive.'],
        ['NOISE', 'f64', 'share of rows whose label is the other class.'],
        [
          'TILT',
          'f64',
          'how far the hidden class tilts a row: a probability for sparse rows, a distance for dense ones.',
        ],
        ['HARDNESS', 'f64', 'from 0, every row is tilted in full, to 1, by anything down to nothing.'],
        ['TELLING', 'u32', 'of 256 pairs of features, how many tell the classes apart.'],
        ['GROUPS', 'u32', 'number of groups of a sparse row, or of columns of a table.'],
        ['GROUP_TABLE', 'address of the groups, or of the columns'],
        ['ONES', 'u32', '1 when every value is 1.'],
        [
          'COUNT_VALUES',
          'address of f64[GENERATE_COUNTS]',
          'the value of a feature that was drawn so many times, before normalising.',
        ],
        ['MOST', 'u32', 'most draws a row can have, or the length of a dense row.'],
        ['NORMAL', 'address of f32[GENERATE_BINS + 1]', 'quantiles of the normal distribution.'],
        [
          'LEVELS',
          'address of 256 texts of eight bytes',
          'the last byte a length; 0 when dense rows are unit-length numbers.',
        ],
        ['CORRELATION', 'f64', 'correlation between neighbouring features of a dense row.'],
        ['INNOVATION', 'f64', "the innovation's factor that keeps the variance at 1."],
        ['CLASSES', 'u32', 'classes, labelled from 1; 0 for the two classes −1 and +1.'],
        ['BURST', 'u32', 'of 65536 draws of a sparse row, how many repeat an earlier one.'],
        [
          'BY_LARGEST',
          'u32',
          "1 when the values of a sparse row are divided by their largest, not by the row's length.",
        ],
        ['SIDE', 'u32', 'pixels along a side of a drawn picture.'],
        ['DRAWINGS', 'address of the drawings, DRAWINGS_OF_A_CLASS for each class'],
      ],
      size: { bytes: 120 },
    },
    {
      constants: [
        ['PLAN_KIND_SPARSE', 0],
        ['PLAN_KIND_DENSE', 1],
        ['PLAN_KIND_DRAWN', 2],
        ['PLAN_KIND_TABLE', 3],
        ['DRAWINGS_OF_A_CLASS', 2, 'Ways to write a class.'],
      ],
    },
    {
      structure: 'Drawing',
      prefix: 'DRAWING_',
      title: 'A drawing: strokes in a square of side 1.',
      fields: [
        ['STROKES', 'address of f32[4 × segments]', 'x and y of both ends of each straight piece.'],
        ['SEGMENTS', 'u32', 'straight pieces.'],
      ],
      size: { bytes: 8 },
    },
    {
      structure: 'Group',
      prefix: 'GROUP_',
      title: 'A group: a range of features from which a sparse row draws.',
      fields: [
        ['FIRST', 'u32', 'zero-based number of its first feature.'],
        ['RANKS', 'address of f64[GENERATE_BINS + 1]', 'ranks at even steps of probability.'],
        [
          'DRAWS',
          'address of u32[GENERATE_LENGTHS]',
          'numbers of draws a row at even steps of probability; 0 when every row draws once and nothing is scattered.',
        ],
        ['CLUSTERS', 'u32', 'clusters that ranks are scattered over; 0 leaves features in the order of their rank.'],
        ['STRIDE', 'u32', 'distance from cluster to cluster.'],
        ['RUN', 'u32', 'features in a cluster.'],
        ['KEY_BYTES', 'u32', 'bytes that hold the largest feature number within the group.'],
      ],
      size: { bytes: 32 },
    },
    {
      structure: 'Made',
      prefix: 'MADE_',
      title: 'A column of a table.',
      fields: [
        ['QUANTILES', 'address of f64[GENERATE_BINS + 1]', 'ranks of names, or numbers, at even steps of probability.'],
        ['IS_NUMBER', 'u32', '1 for a column of numbers, 0 for one of names.'],
        ['MISSING', 'u32', 'of 65536 cells, how many are missing.'],
        ['LEAST', 'u32', 'what is taken off a number.'],
      ],
      size: { bytes: 16 },
    },
    {
      constants: [
        [
          'GENERATE_BINS',
          1024,
          "Pieces of the piecewise uniform distributions: a random number's top ten bits choose one.",
        ],
        ['GENERATE_LENGTHS', 256, 'Pieces of the distribution of row lengths: eight bits.'],
        ['GENERATE_COUNTS', COUNTS, 'Counts above the last are taken for the last.'],
      ],
    },
    {
      structure: 'Slot',
      prefix: 'SLOT_',
      title: 'A slot: scratch of one chunk in the making, followed by four arrays of PLAN_MOST + 4 words.',
      fields: [
        ['NONZEROS', 'u32', 'nonzeros of the chunk (out).'],
        ['POSITIVE', 'u32', 'rows labelled positive (out).'],
        ['HISTOGRAMS', `u32[${4 * 256}]`, 'four histograms of bytes.', { at: 64 }],
        ['TEXTS', `u8[${16 * COUNTS}]`, '16 bytes a count: `:value `, the last byte its length.'],
        ['STAMPS', `u32[${COUNTS}]`, 'for each count, the number of the row whose value the text is.'],
        ['DISTINCT', `u32[${COUNTS}]`, 'the counts that a row has.'],
      ],
      size: { name: 'SLOT_ARRAYS' },
    },
  ],
}
