// The hidden model of made-up data: which features, or values of columns, lean to which class. generate.ts tells how.

/** One over the numbers of 32 bits. */
export const UNIT: f64 = 1.0 / 4294967296.0

/** A well mixed word for a place in the hidden model. */
@inline
export function hiddenWord(place: u32, salt: u32): u32 {
  let h = (place ^ salt) * 0x9e3779b1
  h = (h ^ (h >> 15)) * 0x85ebca6b
  return h ^ (h >> 13)
}

/** The feature within its group that a random word draws. Ten bits choose the piece of the distribution, 32 the place
 *  in it, 16 decide on the twin. */
@inline
export function draw(random: u64, ranks: usize, salt: u32, telling: u32, positive: u32, tilt: u32): u32 {
  const piece = ranks + (usize(random >> 54) << 3)
  const low = load<f64>(piece)
  const rank = u32(low + (load<f64>(piece, 8) - low) * (f64(u32(random)) * UNIT))
  const hidden = hiddenWord(rank >> 1, salt)
  const away = ((hidden >> 8) ^ rank ^ positive) & 1
  return rank ^ (away & u32((hidden & 255) < telling) & u32((u32(random >> 32) & 0xffff) < tilt))
}
