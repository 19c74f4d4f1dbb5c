// A thread of the arena test: allocates and marks every region as its own.
import { parentPort, workerData } from 'node:worker_threads'
import { Arena } from '../../src/numeric/arena.ts'
import type { NumericShare } from '../../src/numeric/numeric.ts'

const { share, thread, threads, gate } = workerData as {
  share: NumericShare
  thread: number
  threads: number
  gate: Int32Array
}
const arena = new Arena(share)
/** Waits until all threads have come here so many times. */
function meet(times: number): void {
  const all = (times + 1) * threads
  let met = Atomics.add(gate, 0, 1) + 1
  if (met === all) Atomics.notify(gate, 0)
  for (; met < all; met = Atomics.load(gate, 0)) Atomics.wait(gate, 0, met)
}
const regions: [number, number][] = []
for (let k = 0; k < 3000; k++) {
  // A thread that ran alone for long would be done before the others have their turn.
  if (k % 500 === 0) meet(k / 500)
  const bytes = k % 100 === 0 ? 200_000 : (k * 37 + thread * 11) % 700
  const at = arena.allocate(bytes, 'a region')
  arena.bytes(at, bytes).fill(thread + 1)
  regions.push([at, bytes])
}
parentPort!.postMessage(regions)
