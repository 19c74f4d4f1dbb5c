// A program for ranks of MPI: tries each call of the communicator, element by element, or fails in the way that its first
// argument says. Rank 0 prints one line of JSON at the end.
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { joinRanks } from '../../src/ranks/join-ranks.ts'
import { noticeLaunch } from '../../src/ranks/launcher.ts'

const [what = 'check', most = '1000000'] = process.argv.slice(2)
const launch = noticeLaunch()
if (!launch) {
  console.log(JSON.stringify({ size: 1, alone: true }))
  process.exit(0)
}

/** A number for an element of a rank that other elements and other ranks do not have. */
const element = (rank: number, k: number): number => (rank + 1) * 1e6 + Math.sin(k)
/** Arrays as programs have them: of their own memory, in the middle of shared memory, and empty. */
const arrays: [string, (length: number) => Float64Array][] = [
  ['own', length => new Float64Array(length)],
  ['shared', length => new Float64Array(new SharedArrayBuffer(length * 8 + 64), 64, length)],
]

// Small calls, so that arrays take several.
const ranks = await joinRanks(launch, process.env, what === 'large' ? undefined : 1 << 16)
const { rank, size } = ranks
assert.equal(rank, launch.rank)
if (what === 'check') await check(Number(most))
else if (what === 'large') await checkLarge()
else await fail(what)
ranks.end()

async function check(longest: number): Promise<void> {
  for (const length of [0, 1, 7, 1000, 8192, 8193, longest]) {
    for (const [kind, make] of arrays) {
      const name = `${length} ${kind}`
      const summed = make(length).map((_, k) => element(rank, k))
      await ranks.sum(summed)
      const largest = make(length).map((_, k) => element((rank + k) % size, k))
      await ranks.max(largest)
      for (let k = 0; k < length; k++) {
        let sum = 0
        for (let of = 0; of < size; of++) sum += element(of, k)
        assert.ok(Math.abs(summed[k] - sum) <= 1e-9 * sum, `sum of ${name}, element ${k}: ${summed[k]}, not ${sum}`)
        assert.equal(largest[k], element(size - 1, k), `largest of ${name}, element ${k}`)
      }
      await sameEverywhere(new Uint8Array(summed.buffer, summed.byteOffset, summed.byteLength), name)
      const given = make(length).map((_, k) => element(rank, k))
      await ranks.broadcast(given, size - 1)
      for (let k = 0; k < length; k++) assert.equal(given[k], element(size - 1, k), `broadcast of ${name}`)
    }
  }
  await checkBytes()
  await checkOrder()
  await ranks.barrier()
  const hosts = (await ranks.gather(Buffer.from(hostname()))).map(name => Buffer.from(name).toString())
  if (rank === 0) console.log(JSON.stringify({ size, hosts }))
}

/** More than 2^31 bytes, of a call and of what is gathered. */
async function checkLarge(): Promise<void> {
  const values = new Float64Array(2 ** 28 + 1000).fill(rank + 1)
  await ranks.sum(values)
  const sum = (size * (size + 1)) / 2
  // Elements here and there, the last among them: there are many.
  const areAll = (of: Float64Array | Uint8Array, expected: number): void => {
    for (let k = of.length - 1; k >= 0; k -= 997) assert.equal(of[k], expected, `element ${k}`)
  }
  areAll(values, sum)
  values.fill(rank)
  await ranks.broadcast(values, 1)
  areAll(values, 1)
  const bytes = new Uint8Array(values.buffer, 0, 2 ** 31 / size + 7)
  bytes.fill(rank + 1)
  for (const [of, given] of (await ranks.gather(bytes)).entries()) {
    assert.equal(given.length, bytes.length)
    areAll(given, of + 1)
  }
  if (rank === 0) console.log(JSON.stringify({ size, bytes: values.byteLength }))
}

/** Results have the same bits at every rank. */
async function sameEverywhere(bytes: Uint8Array, name: string): Promise<void> {
  const all = await ranks.gather(bytes)
  for (const other of all) assert.ok(Buffer.from(other).equals(all[0]), `bits of ${name}`)
}

/** Bytes of different lengths, some without any, some longer than a call. */
async function checkBytes(): Promise<void> {
  const lengthOf = (of: number): number => [70_001, 0, 3, 140_000][of % 4]
  const bytesOf = (of: number): Uint8Array => new Uint8Array(lengthOf(of)).map((_, k) => (of * 31 + k) % 251)
  const all = await ranks.gather(bytesOf(rank))
  assert.equal(all.length, size)
  for (const [of, bytes] of all.entries()) assert.deepEqual(Buffer.from(bytes), Buffer.from(bytesOf(of)))
  const sent = rank === 0 ? bytesOf(0) : new Uint8Array(lengthOf(0))
  await ranks.broadcast(sent)
  assert.deepEqual(Buffer.from(sent), Buffer.from(bytesOf(0)))
}

/** Calls that are not waited for come in their order, and the event loop turns meanwhile. */
async function checkOrder(): Promise<void> {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const all = Array.from({ length: 20 }, (_, k) => new Float64Array(10_000).fill(k))
  // The last rank comes late: the others wait for it.
  if (rank === size - 1) await new Promise(resolve => setTimeout(resolve, 200))
  await Promise.all(all.map(values => ranks.sum(values)))
  clearInterval(timer)
  for (const [k, values] of all.entries()) assert.ok(values.every(value => value === k * size))
  if (rank < size - 1) assert.ok(turns > 20, `${turns} turns of the event loop`)
}

/** The last rank fails while the others wait for it. */
async function fail(how: string): Promise<void> {
  await ranks.barrier()
  if (rank === 0 && how === 'wait') console.log('all are here')
  if (rank === size - 1) {
    if (how === 'wait') await new Promise(() => setInterval(() => {}, 1000))
    if (how === 'abort') ranks.abort(3)
    if (how === 'throw-meanwhile') void ranks.barrier()
    if (how === 'kill') process.kill(process.pid, 'SIGKILL')
    if (how === 'exit') process.exit(4)
    if (how === 'leave') return process.exit(0)
    throw new Error('this rank fails')
  }
  await ranks.barrier()
}
