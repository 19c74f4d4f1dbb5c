// Weights of several trainers, each of which added up a part of Σ α y x.

/** w = base + Σ replicas (base 0: none), each `stride` bytes after the other; how far w was from that, squared. */
export function sumReplicasF64(w: usize, base: usize, replicas: usize, stride: u32, count: u32, weights: u32): f64 { return sumReplicas<f64>(w, base, replicas, stride, count, weights) }
export function sumReplicasF32(w: usize, base: usize, replicas: usize, stride: u32, count: u32, weights: u32): f64 { return sumReplicas<f32>(w, base, replicas, stride, count, weights) }

@inline
function sumReplicas<W>(w: usize, base: usize, replicas: usize, stride: u32, count: u32, weights: u32): f64 {
  let drift: f64 = 0
  for (let j: u32 = 0; j < weights; j++) {
    const offset = usize(j) * sizeof<W>()
    let sum: f64 = base == 0 ? 0 : f64(load<W>(base + offset))
    for (let k: u32 = 0; k < count; k++) sum += f64(load<W>(replicas + usize(k) * usize(stride) + offset))
    const step = sum - f64(load<W>(w + offset))
    if (step == 0) continue
    drift += step * step
    store<W>(w + offset, <W>sum)
  }
  return drift
}

/** base = w − Σ replicas. */
export function withoutReplicasF64(base: usize, w: usize, replicas: usize, stride: u32, count: u32, weights: u32): void { withoutReplicas<f64>(base, w, replicas, stride, count, weights) }
export function withoutReplicasF32(base: usize, w: usize, replicas: usize, stride: u32, count: u32, weights: u32): void { withoutReplicas<f32>(base, w, replicas, stride, count, weights) }

@inline
function withoutReplicas<W>(base: usize, w: usize, replicas: usize, stride: u32, count: u32, weights: u32): void {
  for (let j: u32 = 0; j < weights; j++) {
    const offset = usize(j) * sizeof<W>()
    let rest = f64(load<W>(w + offset))
    for (let k: u32 = 0; k < count; k++) rest -= f64(load<W>(replicas + usize(k) * usize(stride) + offset))
    store<W>(base + offset, <W>rest)
  }
}
