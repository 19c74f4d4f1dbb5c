// Vectors of f64, of any length: what methods with few passes do between them.

/** Σ a_j b_j. */
export function innerProduct(a: usize, b: usize, count: u32): f64 {
  let lo = f64x2.splat(0), hi = f64x2.splat(0)
  const end4 = a + (usize(count & ~3) << 3)
  const end = a + (usize(count) << 3)
  for (; a < end4; a += 32, b += 32) {
    lo = f64x2.add(lo, f64x2.mul(v128.load(a), v128.load(b)))
    hi = f64x2.add(hi, f64x2.mul(v128.load(a, 16), v128.load(b, 16)))
  }
  const both = f64x2.add(lo, hi)
  let sum = f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1)
  for (; a < end; a += 8, b += 8) sum += load<f64>(a) * load<f64>(b)
  return sum
}

/** to = s · a + t · b; `to` may be either. */
export function combine(to: usize, s: f64, a: usize, t: f64, b: usize, count: u32): void {
  const ss = f64x2.splat(s), tt = f64x2.splat(t)
  const end2 = a + (usize(count & ~1) << 3)
  const end = a + (usize(count) << 3)
  for (; a < end2; a += 16, b += 16, to += 16) {
    v128.store(to, f64x2.add(f64x2.mul(ss, v128.load(a)), f64x2.mul(tt, v128.load(b))))
  }
  for (; a < end; a += 8, b += 8, to += 8) store<f64>(to, s * load<f64>(a) + t * load<f64>(b))
}

/** to = the sum of vectors that lie `stride` bytes apart, in their order; they are 0 afterwards. */
export function gatherPieces(to: usize, first: usize, pieces: u32, stride: u32, count: u32): void {
  const end = first + usize(pieces) * usize(stride)
  const whole = usize(count & ~1) << 3
  const zero = f64x2.splat(0)
  for (let j: usize = 0; j < whole; j += 16) {
    let sum = zero
    for (let at = first; at < end; at += usize(stride)) {
      sum = f64x2.add(sum, v128.load(at + j))
      v128.store(at + j, zero)
    }
    v128.store(to + j, sum)
  }
  if ((count & 1) == 0) return
  let sum: f64 = 0
  for (let at = first + whole; at < end + whole; at += usize(stride)) {
    sum += load<f64>(at)
    store<f64>(at, 0)
  }
  store<f64>(to + whole, sum)
}

/** to_j = a_j / (1 + b_j): a diagonal and the regulariser's ones divide. */
export function precondition(to: usize, a: usize, b: usize, count: u32): void {
  for (let j: usize = 0; j < usize(count) << 3; j += 8) store<f64>(to + j, load<f64>(a + j) / (1 + load<f64>(b + j)))
}

/** The lower triangle of an n × n matrix += what stands in the upper one. */
export function foldTriangles(matrix: usize, n: u32): void {
  const line = usize(n) << 3
  for (let j: usize = 1; j < usize(n); j++) {
    const row = matrix + j * line
    let upper = matrix + (j << 3)
    for (let k: usize = 0; k < j << 3; k += 8, upper += line) store<f64>(row + k, load<f64>(row + k) + load<f64>(upper))
  }
}

/** The lower triangle of an n × n matrix, rows one after the other, becomes that of L with L Lᵀ = I + matrix + damping · largest, in
 *  place; false when it has none. Of the matrix' diagonals that were met, `largest` keeps the largest numbers. */
export function factorCholesky(matrix: usize, n: u32, damping: f64, diagonal: usize, largest: usize): bool {
  const line = usize(n) << 3
  for (let j: usize = 0; j < usize(n); j++) {
    const row = matrix + j * line
    for (let k: usize = 0; k <= j; k++) {
      const other = matrix + k * line
      const sum = load<f64>(row + (k << 3)) - innerProduct(row, other, u32(k))
      if (k < j) store<f64>(row + (k << 3), sum / load<f64>(other + (k << 3)))
      else {
        const most = max(load<f64>(largest + (j << 3)), load<f64>(diagonal + (j << 3)))
        store<f64>(largest + (j << 3), most)
        const pivot = sum + 1 + damping * most
        if (!(pivot > 0)) return false
        store<f64>(row + (j << 3), Math.sqrt(pivot))
      }
    }
  }
  return true
}

/** x becomes the solution of L Lᵀ x = x. */
export function solveCholesky(matrix: usize, n: u32, x: usize): void {
  const line = usize(n) << 3
  for (let j: usize = 0; j < usize(n); j++) {
    const row = matrix + j * line
    store<f64>(x + (j << 3), (load<f64>(x + (j << 3)) - innerProduct(row, x, u32(j))) / load<f64>(row + (j << 3)))
  }
  for (let j = usize(n); j > 0; ) {
    j--
    const row = matrix + j * line
    const value = load<f64>(x + (j << 3)) / load<f64>(row + (j << 3))
    store<f64>(x + (j << 3), value)
    combine(x, 1, x, -value, row, u32(j))
  }
}
