// `intersection-map[:BINS]`: the map of the intersection kernel, k(x, y) = min(x, y).
import { additiveMap } from './additive-map.ts'

export const intersectionMap = additiveMap({
  name: 'intersection-map',
  summary: 'of values ≥ 0: three features each, for the intersection kernel',
  spectrum: frequency => 2 / (Math.PI * (1 + 4 * frequency * frequency)),
  // Has the smallest mean square error of all periods, to two digits, on the grid of 0.01, 0.02, … 1 for x and y: the error of
  // the kernel, whose values go up to 1, is 0.0415 on average and 0.138 at most, at x = y = 1, where the kernel has its edge.
  period: 0.94,
})
