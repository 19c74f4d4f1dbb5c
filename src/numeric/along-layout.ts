// Byte layout of a look along the weights: losses at multiples of w, by one reading pass, and what the rows look like.
// Made by `npm run layouts` from the tables in structures/: change those. Integer constants only, for both compilers
// read this file.

/** Multiples of w that are tried: 0, then a factor √2 apart from 2^-40 to 2^8, 1 among them. */
export const ALONG_FACTORS = 98

/** f64: the smallest value, as the solver sees it. */
export const ALONG_LEAST = 0
/** f64: the largest value. */
export const ALONG_MOST = 8
/** f64: the square of the shortest row. */
export const ALONG_SHORTEST = 16
/** f64: the square of the longest row. */
export const ALONG_LONGEST = 24
/** f64[98]: the multiples that are tried, as many as TRIED says. */
export const ALONG_MULTIPLES = 32
/** f64[784]: the sum of losses, for each multiple and each of eight models. A single model has the first of eight. */
export const ALONG_LOSSES = 816
/** f64[8]: room for dot products. */
export const ALONG_DOTS = 7088
/** u32: how many multiples are tried. */
export const ALONG_TRIED = 7152
export const ALONG_BYTES = 7160
