// The table of table-layout.ts.
import type { LayoutFile } from './structure.ts'

export const table: LayoutFile = {
  file: 'table-layout.ts',
  opening: 'Byte layout of tables: what a column of delimited text becomes, and what is learnt of columns.',
  parts: [
    {
      structure: 'Table',
      prefix: 'TABLE_',
      title: 'How the rows of a table are parsed.',
      fields: [
        ['COLUMNS', 'u32', 'columns of a row.'],
        ['COLUMN_AT', 'address of COLUMN_BYTES a column', 'in the order of the text.'],
        ['DELIMITER', 'u32', 'the byte between two cells.'],
        ['SCRATCH', 'address of bytes', 'room for cells whose doubled quotes are undone, as much as the text.'],
        ['LABEL_TEXTS', 'address of bytes', 'room for labels, each closed by a line feed.'],
        ['LINE_OF', 'address of u32[rows]', 'the line of each row (out).'],
        ['WEIGHTS', 'address of f64[rows]', 'the weight of each row (out); 0 where no column has it.'],
        ['NEEDS_LABEL', 'u32', '1 where a row without a label is bad.'],
        ['CELLS', 'address of CELLS_BYTES a column', 'where rows come as columns of cells, not as text.'],
      ],
    },
    {
      structure: 'Cells',
      prefix: 'CELLS_',
      title: 'The cells of a column, where a file has columns.',
      accessors: false,
      fields: [
        ['KIND', 'u32', 'one of the constants NO_CELLS, NUMBER_CELLS and TEXT_CELLS.'],
        [
          'AT',
          'address of eight bytes a row',
          'f64, NaN where it is missing; or the address and the length of a text.',
        ],
      ],
    },
    {
      structure: 'Column',
      prefix: 'COLUMN_',
      title: 'What the cells of a column become.',
      fields: [
        ['ROLE', 'u32', 'one of the ROLE_ constants.'],
        ['FEATURE', 'u32', 'the first feature of the column.'],
        ['MISSING', 'u32', 'the feature of a missing cell, or NO_FEATURE.'],
        ['TABLE', 'address of u32[mask + 1]', 'a hash table of the values: places in the list and 1, or 0.'],
        ['MASK', 'u32', 'slots of that table less 1; they are a power of two.'],
        ['ENTRIES', 'address of two u32 a value', 'the list of values: address and length of each.'],
        ['BITS', 'u32', 'of a column that is hashed.'],
      ],
      size: { bytes: 32 },
    },
    {
      structure: 'Scanned',
      prefix: 'SCANNED_',
      title: 'What is learnt of a column.',
      fields: [
        ['LOOK', 'u32', 'one of the LOOK_ constants.'],
        ['MISSING', 'u32', 'cells that are missing (out).'],
        ['NUMBERS', 'u32', 'cells that are numbers (out).'],
        ['TEXTS', 'u32', 'other cells (out).'],
        ['FIRST_TEXT', 'address of the first of them', '(out).'],
        ['FIRST_BYTES', 'bytes', 'of it (out).'],
        ['FIRST_LINE', 'u32', 'and its line (out).'],
        ['TABLE', 'address of u32[mask + 1]', 'as in a column.'],
        ['MASK', 'u32'],
        ['ENTRIES', 'address of two u32 a value', 'the upper bit of a length marks a value whose quotes are doubled.'],
        ['COUNT', 'u32', 'values in the list (in and out).'],
        ['ROOM', 'u32', 'values that the list and the table have room for.'],
      ],
    },
    {
      constants: [
        ['ROLE_IGNORED', 0],
        ['ROLE_LABEL', 1],
        ['ROLE_WEIGHT', 2],
        ['ROLE_NUMBER', 3],
        ['ROLE_CATEGORY', 4, 'A feature for each value of a list; others have none.'],
        ['ROLE_HASHED', 5, 'A feature by the hash of the value.'],
        ['ROLE_WORDS', 6, 'Words that occur, by their hashes.'],
        ['NO_FEATURE', '0xffffffff'],
      ],
    },
    {
      constants: [
        ['NO_CELLS', 0, 'Nobody needs the column.'],
        ['NUMBER_CELLS', 1],
        ['TEXT_CELLS', 2],
        ['UNFIT_CELLS', '0xffffffff', 'What checkColumns says where cells have to be read as text.'],
      ],
    },
    {
      constants: [
        ['CELL_I8', 0, 'How a file has numbers.'],
        ['CELL_U8', 1],
        ['CELL_I16', 2],
        ['CELL_U16', 3],
        ['CELL_I32', 4],
        ['CELL_U32', 5],
        ['CELL_I64', 6],
        ['CELL_U64', 7],
        ['CELL_F32', 8],
        ['CELL_F64', 9],
        ['CELL_BIT', 10],
      ],
    },
    {
      constants: [
        ['LOOK_AWAY', 0, 'Nothing is learnt.'],
        ['LOOK_KIND', 1, 'Whether cells are numbers; values are listed from the first that is none.'],
        ['LOOK_VALUES', 2, 'Values are listed.'],
        ['LOOK_COUNT', 3, 'Cells are counted, and no values are listed.'],
        ['LOOK_AGAIN', 4, 'Values are to be listed, and some have been passed by (out).'],
      ],
    },
    {
      constants: [
        ['TABLE_ERROR_WIDTH', 41, 'Errors: the column is in the upper bits, from TABLE_ERROR_COLUMN on.'],
        ['TABLE_ERROR_OPEN_QUOTE', 42],
        ['TABLE_ERROR_AFTER_QUOTE', 43],
        ['TABLE_ERROR_NUMBER', 44],
        ['TABLE_ERROR_WEIGHT', 45],
        ['TABLE_ERROR_NO_LABEL', 46],
        ['TABLE_ERROR_LABEL', 47],
        ['TABLE_ERROR_COLUMN', 8, 'Bits below the column.'],
      ],
    },
  ],
}
