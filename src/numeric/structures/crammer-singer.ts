// The table of crammer-singer-layout.ts.
import type { LayoutFile } from './structure.ts'

export const crammerSinger: LayoutFile = {
  file: 'crammer-singer-layout.ts',
  opening: "Byte layout of Crammer and Singer's problem: all classes at once, over row records.",
  parts: [
    {
      structure: 'Together',
      prefix: 'TOGETHER_',
      accessors: false,
      fields: [
        ['ROWS', 'address of u32[rows]', 'row record addresses.'],
        ['CLASSES', 'u32', 'classes, K.'],
        [
          'STRIDE',
          'bytes',
          "from one feature's weights to the next: K is rounded up to an even number, and the weight too many stays 0.",
        ],
        ['WEIGHTS', 'address of the weights', 'f64, one for each class of a feature together.'],
        ['BIAS_WEIGHTS', 'address of the weights of the bias'],
        ['ALPHA', 'address of f64[rows × K]', 'the dual variables.'],
        ['PLACES', 'address of u32[]', 'the place of a class among the weights by its number in row records.'],
        ['COSTS', 'address of f64[K]', 'the cost of a row by the place of its class.'],
        ['SHRUNK', 'address of u64[rows × words]', 'a bit for each class: 1 when it is shrunk for that row.'],
        ['WORDS', 'u32', 'words of 64 bits for each row.'],
        [
          'SCRATCH',
          'address of scratch memory of the sweep',
          'TOGETHER_SCRATCH_CLASS bytes for each class (K rounded up).',
        ],
        ['ROW_WEIGHTS', 'address of f64[rows]', 'the weight of each row, which its cost is multiplied by; 0 for none.'],
        ['BIAS', 'f64', 'value of the bias feature in every row, 0 for none.'],
        ['DAMPING', 'f64', 'over ranks: how much further a sweep moves w than its rows ask for; else 1.'],
      ],
    },
    {
      constants: [
        [
          'TOGETHER_SCRATCH_CLASS',
          32,
          'Scores, simplex values and steps (f64 each), classes in play and classes that move (u32 each).',
        ],
      ],
    },
  ],
}
