// The table of working-set-layout.ts.
import type { LayoutFile } from './structure.ts'

const RADII = 16

export const workingSet: LayoutFile = {
  file: 'working-set-layout.ts',
  opening: 'Byte layouts of the working set of solver `stream`: rows that stay in memory while others come and go.',
  parts: [
    {
      structure: 'WorkingSet',
      prefix: 'WORKING_',
      title:
        'The working set. Rows stand in the table in the order of their addresses, without gaps between the records.',
      fields: [
        ['RECORDS', 'address of the row records'],
        ['ROOM', 'bytes', 'of room for them.'],
        ['USED', 'bytes', 'of records in use.'],
        ['CAPACITY', 'u32', 'room for so many rows.'],
        ['COUNT', 'u32', 'rows there are.'],
        ['TABLE', 'address of u32[capacity]', 'the records of the rows.'],
        ['NUMBERS', 'address of u32[capacity]', "the rows' numbers in the order of the store."],
        ['ALPHA', "address of the rows' dual variables", 'While a row is here, these are the true ones.'],
        ['STRIDE', 'bytes', 'of a dual variable: 8, or 16 for the entropic dual.'],
        [
          'GRADIENTS',
          'address of f64[capacity]',
          "each row's gradient after its last visit (its margin, for the logistic loss).",
        ],
        ['RESIDENT', 'address of a bitmap over all rows', 'which are here.'],
        ['ALL_ALPHA', 'address of the dual variables of all rows', 'in the order of the store.'],
        ['LEDGER', 'address of the ledger', 'a record of LEDGER_BYTES for each block.'],
        ['FIRST_ROWS', 'address of u32[blocks + 1]', "number of each block's first row, rows in all at the end."],
        ['BLOCKS', 'u32', 'blocks.'],
        ['RADII', 'u32', "how many of a ledger's radii are filled in."],
        ['EPSILON', 'f64', 'rows at a bound whose gradient lies further beyond it leave.'],
        ['RANDOM', 'u64', 'state of the random numbers that choose whom else.'],
        ['RADIUS', 'f64', 'the first radius above 0; each next one is twice as large.'],
        ['MOVED', 'f64', 'how far the last visit of new rows may have moved w, by its single steps (out).'],
        ['DISMISSED', 'u32', 'rows that left so far at their first visit.'],
        ['EVICTED', 'u32', 'rows that left so far by the rule, later.'],
        ['DRAWN', 'u32', 'rows that left so far because they were drawn at random.'],
        ['WEIGHTS', 'address of f64[capacity]', 'the weights of the rows, or 0 where they have none.'],
        ['CURSOR', 'u32', 'the row where the next look for some near ones begins.'],
      ],
      size: { bytes: 120 },
    },
    {
      structure: 'Ledger',
      prefix: 'LEDGER_',
      title: "A block's record in the ledger: what is known of its rows that are not in memory.",
      fields: [
        ['DUAL', 'f64', 'their part of the dual objective.'],
        ['SUPPORT', 'f64', 'how many have α > 0.'],
        ['CORRECT', 'f64', 'how many were on the right side when they were met.'],
        [
          'OWED',
          `f64[${RADII}]`,
          'the most they owe to the duality gap if w is within the k-th radius of where it was when they were met; the first radius is 0.',
        ],
      ],
    },
    {
      constants: [['LEDGER_RADII', RADII]],
    },
    {
      structure: 'Dictionary',
      prefix: 'DICTIONARY_',
      title: 'A dictionary that numbers features in the order in which they are met.',
      fields: [
        ['COUNT', 'u32', 'features that have a number.'],
        ['CAPACITY', 'u32', 'how many may get one.'],
        ['FEATURES', 'address of u32[capacity]', 'the features by their numbers.'],
        ['SLOTS', 'u32', 'slots of the hash table, a power of two.'],
        ['TABLE', 'address of u32[2 × most slots]', 'a feature plus 1 and its number in each slot, or 0.'],
        ['MOST_SLOTS', 'u32', 'how many slots the table may grow to.'],
      ],
      size: { bytes: 24 },
    },
  ],
}
