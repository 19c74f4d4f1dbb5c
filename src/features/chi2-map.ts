// `chi2-map[:BINS]`: the map of the chi-squared kernel, k(x, y) = 2xy / (x + y).
import { additiveMap } from './additive-map.ts'

export const chi2Map = additiveMap({
  name: 'chi2-map',
  summary: 'of values ≥ 0: three features each, for the chi-squared kernel',
  spectrum: frequency => 1 / Math.cosh(Math.PI * frequency),
  // Has the smallest mean square error of all periods, to two digits, on the grid of 0.01, 0.02, … 1 for x and y: the error of
  // the kernel, whose values go up to 1, is 0.0105 on average and 0.0345 at most. With 0.8 it is 0.036 and 0.058.
  period: 0.66,
})
