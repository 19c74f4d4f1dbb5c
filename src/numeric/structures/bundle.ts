// The table of bundle-layout.ts.
import type { LayoutFile } from './structure.ts'

const LANES = 8

export const bundle: LayoutFile = {
  file: 'bundle-layout.ts',
  opening:
    'Byte layout of a bundle: up to eight models that are trained on the same rows at the same time. Their weights lie side by side, feature by feature, one lane each: eight f64 are a cache line.',
  parts: [
    {
      structure: 'Bundle',
      prefix: 'BUNDLE_',
      fields: [
        ['ROWS', 'address of u32[rows]', 'row record addresses.'],
        ['COUNT', 'u32', 'rows.'],
        [
          'ALPHA',
          'address of the dual variables',
          'for each row one f64 a lane; logistic: then C − α, again one a lane.',
        ],
        ['WEIGHTS', 'address of the weights', 'for each feature one f64 a lane.'],
        ['BIAS_FEATURE', 'u32', 'number of the bias feature.'],
        ['LOGISTIC', 'u32', '1 when the loss is logistic.'],
        ['BIAS', 'f64', 'value of the bias feature, 0 for none.'],
        ['FOLDS', 'address of u8[rows]', 'the fold of each row, or 0.'],
        ['MODELS', 'u32', 'how many lanes are models.'],
        ['ACTIVE', 'u32', 'a bit for each lane that is still trained.'],
        ['WORTH', 'address of f64[rows]', 'where a sweep notes what each row is worth to the models together, or 0.'],
        [
          'ROW_WEIGHTS',
          'address of f64[rows]',
          'the weight of each row, which its costs are multiplied by; 0 for none.',
        ],
        ['POSITIVE', `u32[${LANES}]`, 'class number that is positive, for each lane.', { at: 64 }],
        ['HELD_OUT', `u32[${LANES}]`, 'fold that is held out, for each lane; 2^32 − 1 for none.'],
        [
          'BOUND_POSITIVE',
          `f64[${LANES}]`,
          'upper bound of the box dual for positive rows, for each lane: see PROBLEM_.',
        ],
        ['BOUND_NEGATIVE', `f64[${LANES}]`, 'the same for negative rows.'],
        ['DIAGONAL_POSITIVE', `f64[${LANES}]`, 'diagonal of the box dual for positive rows, for each lane.'],
        ['DIAGONAL_NEGATIVE', `f64[${LANES}]`, 'the same for negative rows.'],
        [
          'GRADIENT_MAX',
          `f64[${LANES}]`,
          'the largest projected gradient of the present sweep, for each lane (in and out).',
        ],
        ['GRADIENT_MIN', `f64[${LANES}]`, 'the smallest projected gradient (in and out).'],
        ['LOSS', `f64[${LANES}]`, 'losses in the present sweep, for each lane (in and out).'],
        ['GAP', `f64[${LANES}]`, 'debts to the gap in the present sweep, for each lane (in and out).'],
        ['UPPER', `f64[${LANES}]`, 'upper threshold of shrinking, from the last sweep, for each lane.'],
        ['LOWER', `f64[${LANES}]`, 'lower threshold of shrinking.'],
        ['DOTS', `f64[${LANES}]`, "scratch for a row's dot products; between sweeps for squared lengths of weights."],
        ['STEPS', `f64[${LANES}]`, "scratch for a row's steps."],
        ['COLUMN', `u32[${LANES}]`, "where a held-out row's score goes, for each lane: the number of a column."],
        ['MOMENTUM', `u32[${LANES}]`, 'of each lane: see SWEEP_.'],
        [
          'SHARES',
          `f64[${LANES}]`,
          'of each lane: the share of the last sweep that its dual variables are carried on by.',
        ],
        ['GAINS', `f64[${LANES}]`, 'scratch: what that gains.'],
      ],
      size: { bytes: 1088 },
    },
    {
      constants: [['BUNDLE_LANES', LANES, 'Lanes of a bundle at most.']],
    },
  ],
}
