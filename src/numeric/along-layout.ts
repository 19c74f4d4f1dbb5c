// Byte layout of a look along the weights: losses at multiples of w, by one reading pass, and what the rows look like.
// Compiled by both compilers like layouts.ts.

/** Multiples of w that are tried: 0, then a factor √2 apart from 2^-40 to 2^8, 1 among them. */
export const ALONG_FACTORS = 98
/** f64 each: the smallest and the largest value, as the solver sees them; the squares of the shortest and the longest row. */
export const ALONG_LEAST = 0
export const ALONG_MOST = 8
export const ALONG_SHORTEST = 16
export const ALONG_LONGEST = 24
/** f64[ALONG_FACTORS]: the multiples. */
export const ALONG_MULTIPLES = 32
/** f64 for each multiple and each of eight models: the sum of losses. A single model has the first of eight. */
export const ALONG_LOSSES = 816
/** f64[8]: room for dot products. */
export const ALONG_DOTS = 7088
export const ALONG_BYTES = 7152
