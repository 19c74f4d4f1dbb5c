// The table of metric-tree-layout.ts.
import type { LayoutFile } from './structure.ts'

export const metricTree: LayoutFile = {
  file: 'metric-tree-layout.ts',
  opening: 'Byte layouts of the pages of a metric tree, and of a query that they are asked.',
  parts: [
    {
      structure: 'TreePage',
      prefix: 'TREE_',
      title: 'How a page begins, whatever it holds. Offsets in a page count from here, so a page may lie anywhere.',
      fields: [
        ['KIND', 'u32', 'one of the TREE_KIND_ constants.'],
        ['COUNT', 'u32', 'rows of a leaf, or children of an inner node, that follow.'],
        ['LENGTH', 'bytes', 'of the whole page.'],
        ['SPARE', 'u32', '0.'],
      ],
      size: { name: 'TREE_ENTRIES' },
    },
    {
      constants: [
        ['TREE_KIND_LEAF', 0, 'TREE_ROW_ entries, then row records.'],
        ['TREE_KIND_INNER', 1, 'CHILD_ entries, then the row records of their centres.'],
        ['TREE_MIXED', '0xffffffff', 'In place of a class: rows of any class.'],
      ],
    },
    {
      structure: 'TreeRow',
      accessors: false,
      prefix: 'TREE_ROW_',
      title: 'A row of a leaf.',
      fields: [
        ['NUMBER', 'u32', 'its number among the rows of its block.'],
        ['RECORD', 'u32', 'offset of its record in the page.'],
      ],
    },
    {
      structure: 'TreeChild',
      prefix: 'CHILD_',
      title: 'A child of an inner node: a ball that holds its rows, and the page to find them in.',
      fields: [
        ['RADIUS', 'f64', 'no row is further from the centre.'],
        ['ANGLE', 'f64', 'no row makes a larger angle with the centre.'],
        ['SHORTEST', 'f64', 'length of the shortest row.'],
        ['LONGEST', 'f64', 'length of the longest row.'],
        ['PAGE', 'u64', 'offset of its page in the file.'],
        ['CHECKSUM', 'u64', 'XXH64 of that page.'],
        ['PAGE_BYTES', 'bytes', 'of that page.'],
        ['ROWS', 'u32', 'rows below it.'],
        ['CLASS', 'u32', 'class number of all of them, or TREE_MIXED.'],
        ['CENTRE', 'u32', "offset of the centre's record in this page."],
        ['FIRST', 'u32', "place of its first row among the block's rows in the order of the leaves."],
        [
          'BOX',
          'u32',
          'offset in this page of f32[2 × features], the least and then the largest value of each feature among its rows; 0 for none.',
        ],
        ['LEAF', 'u32', '1 for a leaf.'],
        ['SPARE', 'u32', '0.'],
      ],
    },
    {
      structure: 'Spread',
      prefix: 'SPREAD_',
      title: 'How far rows lie from a centre.',
      fields: [
        ['FURTHEST', 'f64', 'largest squared distance.'],
        ['LEAST_COSINE', 'f64', 'smallest cosine of an angle with the centre; rows without entries have none.'],
        ['SHORTEST', 'f64', 'smallest squared length.'],
        ['LONGEST', 'f64', 'largest squared length.'],
      ],
    },
    {
      structure: 'Query',
      prefix: 'QUERY_',
      title:
        'A query: rows whose margin y (wᵀx + bias) lies below HIGH, and above LOW by the anchor, or by w without one.',
      fields: [
        ['WEIGHTS', 'address of the weights w'],
        ['ANCHOR', 'address of the weights that LOW is about', 'or 0 for w itself.'],
        ['BIAS', 'f64', 'what the bias adds to every score.'],
        ['ANCHOR_BIAS', 'f64', 'the same by the anchor.'],
        ['LENGTH', 'f64', '‖w‖, the bias not counted.'],
        ['ANCHOR_LENGTH', 'f64', 'the same of the anchor.'],
        ['HIGH', 'f64', 'margins are below it.'],
        ['LOW', 'f64', 'margins are above it; −∞ for no limit.'],
        ['POSITIVE', 'u32', 'class number that is positive.'],
        ['UNIT', 'u32', '1 when rows are taken as if they were unit length.'],
        ['NARROW', 'u32', '1 when weights are f32.'],
        ['FIRST_ROW', 'u32', 'number of the first row of the block that a page is of.'],
        ['TAKEN', 'address of a bitmap over all rows', 'rows that are not wanted; 0 for none.'],
        [
          'ALPHA',
          'address of f64[rows]',
          'where it is not 0, rows are wanted whose number there is not 0, whatever their margin.',
        ],
        ['FOUND', 'address of u32[]', 'places in a leaf of the rows that were found (out).'],
        ['MARGINS', 'address of f64[]', 'their margins (out).'],
        ['TOUCHED', 'address of a bitmap over all rows', 'rows that were looked at are marked here; 0 for nowhere.'],
        [
          'RESTING',
          'address of a bitmap over all rows',
          'in the order of the leaves, of rows that are left out; 0 for none.',
        ],
        ['REST_BEYOND', 'f64', 'rows whose margin is so far above HIGH are marked as resting.'],
        ['PLACE', 'u32', 'of the first row of the leaf, in that order.'],
        ['FEATURES', 'u32', 'weights there are, the bias not counted.'],
      ],
    },
  ],
}
