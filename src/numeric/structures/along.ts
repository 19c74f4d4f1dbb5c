// The table of along-layout.ts.
import type { LayoutFile } from './structure.ts'

const FACTORS = 98
const LANES = 8

export const along: LayoutFile = {
  file: 'along-layout.ts',
  opening:
    'Byte layout of a look along the weights: losses at multiples of w, by one reading pass, and what the rows look like.',
  parts: [
    {
      constants: [
        [
          'ALONG_FACTORS',
          FACTORS,
          'Multiples of w that are tried: 0, then a factor √2 apart from 2^-40 to 2^8, 1 among them.',
        ],
      ],
    },
    {
      structure: 'Along',
      prefix: 'ALONG_',
      fields: [
        ['LEAST', 'f64', 'the smallest value, as the solver sees it.'],
        ['MOST', 'f64', 'the largest value.'],
        ['SHORTEST', 'f64', 'the square of the shortest row.'],
        ['LONGEST', 'f64', 'the square of the longest row.'],
        ['MULTIPLES', `f64[${FACTORS}]`, 'the multiples that are tried, as many as TRIED says.'],
        [
          'LOSSES',
          `f64[${FACTORS * LANES}]`,
          'the sum of losses, for each multiple and each of eight models. A single model has the first of eight.',
        ],
        ['DOTS', `f64[${LANES}]`, 'room for dot products.'],
        ['TRIED', 'u32', 'how many multiples are tried.'],
      ],
      size: { bytes: 32 + FACTORS * 8 + FACTORS * LANES * 8 + LANES * 8 + 8 },
    },
  ],
}
