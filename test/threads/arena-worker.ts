// A thread of the arena test: allocates and marks every region as its own.
import { parentPort, workerData } from 'node:worker_threads'
import { Arena } from '../../src/numeric/arena.ts'
import type { NumericShare } from '../../src/numeric/numeric.ts'

const { share, thread, gate } = workerData as { share: NumericShare; thread: number; gate: Int32Array }
const arena = new Arena(share)
// All threads begin together.
Atomics.add(gate, 0, 1)
while (Atomics.load(gate, 1) === 0) Atomics.wait(gate, 1, 0, 100)
const regions: [number, number][] = []
for (let k = 0; k < 3000; k++) {
  const bytes = k % 100 === 0 ? 200_000 : (k * 37 + thread * 11) % 700
  const at = arena.allocate(bytes, 'a region')
  arena.bytes(at, bytes).fill(thread + 1)
  regions.push([at, bytes])
}
parentPort!.postMessage(regions)
