// Places of the memory slider and the bytes they stand for: a scale of powers of two.

/** Less cannot work: Node itself takes most of it. */
const LEAST_POWER = 26
/** Steps between a power of two and the next. */
const STEPS = 8
const MEGABYTE = 2 ** 20

/** A place on the slider to bytes: whole megabytes. */
export function bytesAt(place: number): number {
  return Math.round(2 ** (LEAST_POWER + place / STEPS) / MEGABYTE) * MEGABYTE
}

/** Bytes to the nearest place. */
export function placeOf(bytes: number): number {
  return Math.max(0, Math.round((Math.log2(bytes) - LEAST_POWER) * STEPS))
}

/** The first place with so many bytes at least. */
export function placeFor(bytes: number): number {
  const near = placeOf(bytes)
  return bytesAt(near) >= bytes ? near : near + 1
}

/** The last place, beyond the memory of the machine: it stands for no limit. */
export function lastPlace(machineBytes: number): number {
  return Math.max(1, Math.floor((Math.log2(machineBytes) - LEAST_POWER) * STEPS) + 1)
}
