// How long a run may still take, from how its gap has fallen.

export interface GapPoint {
  seconds: number
  pass: number
  gap: number
}

/** A gap that hardly fell tells nothing. */
const LEAST_FALL = 0.2

/** Seconds until the gap is at the tolerance; undefined while that cannot be told. The gap falls by about the same factor each
 *  second once it falls at all; the first passes often fall faster, so the later half of the passes counts. */
export function timeLeft(points: readonly GapPoint[], tolerance: number): number | undefined {
  const last = points[points.length - 1]
  if (!last) return undefined
  if (last.gap <= tolerance) return 0
  const before = points.findLast(({ pass }) => pass <= last.pass / 2) ?? points[0]
  const time = last.seconds - before.seconds
  const fallen = Math.log(before.gap / last.gap)
  if (!(time > 0) || !(fallen > LEAST_FALL)) return undefined
  return (Math.log(last.gap / tolerance) * time) / fallen
}
