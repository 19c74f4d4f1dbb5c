// `additive-kernel:NAME:APPROXIMATION:DEGREE:NODES:BINS`: a row in the space of an additive kernel, as a model has it.
// Feature j becomes `width` features, j · width and on. Their values stand in a table at the nearest bin: see
// additive-kernels/row-space.ts. Training itself keeps bins instead: the same numbers in less memory.
//
// Values count up to 1; what rounds to 0 is left out. A negative value is the negative of its opposite: only data whose
// ranges were learnt has such, see scale.ts.
import { parseSpace, spaceText, tableOf, widthOf } from '../additive-kernels/row-space.ts'
import { SpillwayError } from '../errors.ts'
import { EXPAND_BEYOND_ODD } from '../numeric/layouts.ts'
import type { ExpandedRow, Expansion, ExpansionStep } from './expansion.ts'

export const additiveKernel: Expansion = {
  name: 'additive-kernel',
  summary: 'what --kernel makes of values, as features',
  takes: ':NAME:APPROXIMATION:DEGREE:NODES:BINS',
  example: 'additive-kernel:chi2:projection:2:chebyshev:100',
  parse(words): ExpansionStep {
    const space = parseSpace(words)
    const { bins } = space
    const width = widthOf(space)
    const table = tableOf(space)
    return {
      text: spaceText(space),
      letters: false,
      hashes: false,
      constant: false,
      proportional: true,
      features: before => before * width,
      entries: before => before * width,
      valueBytes: before => before,
      loop: 'expandTable',
      settings: { table, width, bins, beyond: EXPAND_BEYOND_ODD },
      tooManyFeatures: () =>
        new SpillwayError(
          `the data has more than ${Math.floor((2 ** 32 - 2) / width)} features, and a kernel of degree ${space.degree} makes ${width} numbers of each`,
          'number the features without gaps',
        ),
      expandRow({ indices, values }, round) {
        const row: ExpandedRow = { indices: [], values: [] }
        values.forEach((x, entry) => {
          const bin = Math.min(Math.floor(Math.min(Math.abs(x), 1) * bins + 0.5), bins)
          if (bin === 0) return
          for (let k = 0; k < width; k++) {
            const value = round(Math.sign(x) * table[bin * width + k])
            if (value === 0) continue
            row.indices.push(indices[entry] * BigInt(width) + BigInt(k))
            row.values.push(value)
          }
        })
        return row
      },
      /** `17(1)` to `17(3)` are what feature 17 becomes. */
      nameOf: (feature, before) => `${before(Math.floor(feature / width))}(${(feature % width) + 1})`,
    }
  },
}

/** One number for both ends of a scaled range. The range has 0 in it and ends at −1 or at 1, so that the sum of its ends tells
 *  them; it is kept less 1, which for a range up to 1 is its lowest value. */
export function rangeMark(lowest: number, highest: number): number {
  if (highest >= -lowest) return lowest
  const mark = highest - 2
  // The difference is rounded. The end must not come out below a value that was trained on.
  return mark + 2 < highest ? mark + Number.EPSILON : mark
}

export function rangeEnds(mark: number): { lowest: number; highest: number } {
  return { lowest: Math.max(mark, -1), highest: Math.min(mark + 2, 1) }
}

/** The space that a model's steps name, or undefined when they are something else. */
export function spaceOf(steps: string | undefined) {
  return steps?.startsWith(`${additiveKernel.name}:`) ? parseSpace(steps.split(':').slice(1)) : undefined
}
