// XXH64 with seed 0: the checksum of blocks. Four lanes of eight bytes, a multiplication each.
const P1: u64 = 0x9e3779b185ebca87, P2: u64 = 0xc2b2ae3d27d4eb4f, P3: u64 = 0x165667b19e3779f9
const P4: u64 = 0x85ebca77c2b2ae63, P5: u64 = 0x27d4eb2f165667c5

@inline
function round(lane: u64, word: u64): u64 {
  return rotl(lane + word * P2, 31) * P1
}

@inline
function merge(hash: u64, lane: u64): u64 {
  return (hash ^ round(0, lane)) * P1 + P4
}

/** Takes so many bytes, whole stripes of 32, into the four lanes of a checksum that is made piece by piece: u64[4]. */
export function xxh64Stripes(lanes: usize, data: usize, bytes: u32): void {
  let a = load<u64>(lanes), b = load<u64>(lanes, 8), c = load<u64>(lanes, 16), d = load<u64>(lanes, 24)
  for (const end = data + usize(bytes); data < end; data += 32) {
    a = round(a, load<u64>(data))
    b = round(b, load<u64>(data, 8))
    c = round(c, load<u64>(data, 16))
    d = round(d, load<u64>(data, 24))
  }
  store<u64>(lanes, a)
  store<u64>(lanes, b, 8)
  store<u64>(lanes, c, 16)
  store<u64>(lanes, d, 24)
}

export function xxh64(data: usize, bytes: u32): u64 {
  let p = data
  const end = data + usize(bytes)
  let hash: u64
  if (bytes >= 32) {
    let a: u64 = P1 + P2, b: u64 = P2, c: u64 = 0, d: u64 = 0 - P1
    for (const last = end - 32; p <= last; p += 32) {
      a = round(a, load<u64>(p))
      b = round(b, load<u64>(p, 8))
      c = round(c, load<u64>(p, 16))
      d = round(d, load<u64>(p, 24))
    }
    hash = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18)
    hash = merge(merge(merge(merge(hash, a), b), c), d)
  } else hash = P5
  hash += u64(bytes)
  for (; p + 8 <= end; p += 8) hash = rotl(hash ^ round(0, load<u64>(p)), 27) * P1 + P4
  if (p + 4 <= end) {
    hash = rotl(hash ^ (u64(load<u32>(p)) * P1), 23) * P2 + P3
    p += 4
  }
  for (; p < end; p++) hash = rotl(hash ^ (u64(load<u8>(p)) * P5), 11) * P1
  hash = (hash ^ (hash >> 33)) * P2
  hash = (hash ^ (hash >> 29)) * P3
  return hash ^ (hash >> 32)
}

/** The same of no bytes. */
export const XXH64_OF_NOTHING: u64 = 0xef46db3751d8e999

/** The same of eight bytes. */
@inline
export function xxh64OfWord(word: u64): u64 {
  let hash = rotl((P5 + 8) ^ round(0, word), 27) * P1 + P4
  hash = (hash ^ (hash >> 33)) * P2
  hash = (hash ^ (hash >> 29)) * P3
  return hash ^ (hash >> 32)
}
