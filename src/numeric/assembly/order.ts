// Orders: lists of u32 numbers, of rows or of columns, in which sweeps meet them.

/** Two places of an order change their numbers. */
@inline
export function swap(order: usize, a: u32, b: u32): void {
  const x = load<u32>(order + (usize(a) << 2))
  store<u32>(order + (usize(a) << 2), load<u32>(order + (usize(b) << 2)))
  store<u32>(order + (usize(b) << 2), x)
}
