// Whole runs where addresses no longer fit a signed 32-bit number: above 2 GiB and near the end of the window, every solver,
// the first pass and several trainers come to what they come to below, to the bit where there are bits to compare.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import { encodeModel } from '../../src/model/own-file.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { ARENA_START } from '../../src/numeric/layouts.ts'
import { findSolver } from '../../src/optimise/solvers/all-solvers.ts'
import type { BlockSolver } from '../../src/optimise/solvers/solver.ts'
import { BlockEngine } from '../../src/optimise/sources/block-engine.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planFor } from '../../src/train/plan-for-blocks.ts'
import { train } from '../../src/train/train.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { ABOVE, arenaFrom, nearTheEnd, withArenasFrom } from '../numeric/high-addresses.ts'
import { decodeRow } from '../numeric/reference.ts'
import { fastFolder, memoryFor, threeClasses } from '../out-of-core/fixture.ts'

const folder = fastFolder()
const text = folder.write('two.svm', `${noisyRows(900, 25, 7)}\n`)
const three = folder.write('three.svm', `${threeClasses(400, 5)}\n`)
const store = join(folder.path, 'two.spill')
let memory = 0

before(async () => {
  await ingest(text, store, { blocks: 8, threads: 1 })
  memory = await memoryFor(store, 2, { solver: 'stream' })
})

const starts: [string, number][] = [
  ['above 2 GiB', ABOVE],
  ['near 4 GiB', nearTheEnd(2 ** 29)],
]

let stores = 0
/** Weights and objectives of a run whose arenas begin at an address. */
function outcomeFrom(start: number, data: string, options: TrainOptions): Promise<unknown[]> {
  return withArenasFrom(start, async () => {
    const fromText = options.store !== undefined && { store: join(folder.path, `made-${stores++}.spill`) }
    const { model, primal, dual, passes, exitReason } = await train(data, { threads: 1, ...options, ...fromText })
      .result
    return [Buffer.from(encodeModel(model)).toString('base64'), primal, dual, passes, exitReason]
  })
}

const inMemory: TrainOptions = { solver: 'dual' }
const runs: [string, () => string, () => TrainOptions][] = [
  ['dual', () => text, () => inMemory],
  ['dual, f32 weights', () => text, () => ({ ...inMemory, weights: 'f32' })],
  ['dual, f64 values, scaled', () => text, () => ({ ...inMemory, values: 'f64', scale: 'standard' })],
  ['dual, logistic', () => text, () => ({ ...inMemory, loss: 'logistic' })],
  ['dual, three classes', () => three, () => inMemory],
  ['dual, Crammer and Singer', () => three, () => ({ ...inMemory, multiclass: 'crammer-singer' })],
  ['dual, an additive kernel', () => text, () => ({ ...inMemory, kernel: 'intersection', scale: 'minmax' })],
  ['dual, expanded', () => text, () => ({ ...inMemory, expand: 'polynomial:2+hash:10' })],
  ['primal-coordinate', () => text, () => ({ regularizer: 'l1', loss: 'squared-hinge' })],
  ['pegasos', () => store, () => ({ solver: 'pegasos', maxPasses: 5 })],
  ['one-pass', () => store, () => ({ solver: 'one-pass', loss: 'squared-hinge' })],
  ['block', () => store, () => ({ solver: 'block', memory, cold: true })],
  ['selective', () => store, () => ({ solver: 'selective', memory, cold: true })],
  ['selective, three classes', () => three, () => ({ solver: 'selective', blocks: 5, store: 'anew' })],
  ['stream', () => store, () => ({ solver: 'stream', memory, cold: true })],
  ['stream, logistic', () => store, () => ({ solver: 'stream', loss: 'logistic', memory, cold: true })],
  ['stream from text, a first pass before it', () => text, () => ({ solver: 'stream', blocks: 8, store: 'anew' })],
]

for (const [name, data, options] of runs) {
  it(`${name}: the same bits wherever it lies`, async () => {
    const below = await outcomeFrom(ARENA_START, data(), options())
    for (const [where, start] of starts) {
      // A first pass without a limit has a GiB to itself.
      if (options().store && start > ABOVE) continue
      assert.deepEqual(await outcomeFrom(start, data(), options()), below, where)
    }
  })
}

it('several trainers, above 2 GiB: the optimum of one', async () => {
  const options: TrainOptions = { tolerance: 1e-6, maxPasses: 3000 }
  const one = await train(text, { ...options, solver: 'dual', threads: 1 }).result
  for (const [where, start] of starts) {
    const two = await withArenasFrom(
      start,
      () => train(store, { ...options, solver: 'stream', threads: 2, cold: true }).result,
    )
    assert.equal(two.exitReason, 'converged', where)
    assert.ok(Math.abs(two.primal! - one.primal!) <= 3e-6 * one.primal!, `${where}: ${two.primal}, alone ${one.primal}`)
  }
})

describe('a store that is made, added to and removed from above 2 GiB', () => {
  it('has the bytes of one made below', async () => {
    const made = async (start: number): Promise<Map<string, string>> =>
      withArenasFrom(start, async () => {
        const path = join(folder.path, `store-${start}.spill`)
        await ingest(text, path, { blocks: 3, threads: 1 })
        await addRows(text, path, { threads: 1, again: true })
        await removeRows(path, { label: '-1' })
        const opened = await openStore(path)
        assert.deepEqual((await opened.verify(new Arena(), { decode: true })).problems, [])
        return new Map(
          opened.manifest.blocks.map(({ file }) => [file, readFileSync(join(path, file)).toString('base64')]),
        )
      })
    const below = await made(ARENA_START)
    for (const [where, start] of starts) assert.deepEqual(await made(start), below, where)
  })
})

describe('a block engine above 2 GiB', () => {
  /** Rows of all blocks, and where the slots are. */
  async function rowsFrom(
    start: number,
    spareBytes: number,
  ): Promise<{ rows: unknown[]; tables: number[]; spare: number }> {
    const arena = arenaFrom(start)
    const opened = await openStore(store)
    const plan = await planFor(opened, findSolver('block') as BlockSolver, resolveOptions({ memory }))
    const engine = new BlockEngine(arena, opened, plan, { alphaStride: 8 })
    // As a first pass leaves it: not at a multiple of anything.
    const spare = arena.allocate(spareBytes + 64, 'what was in use before') + 24
    engine.reuse({ at: spare, bytes: spareBytes })
    const [rows, tables]: [unknown[], number[]] = [[], []]
    try {
      for await (const block of engine.pass(opened.manifest.blocks.map((_, k) => [k]))) {
        tables.push(block.table, block.order, block.alpha)
        for (const record of arena.u32(block.table, block.rows)) {
          assert.ok(record >= start, `a record at ${record}`)
          const { end: _, dictionary: __, ...row } = decodeRow(arena, record)
          rows.push(row)
        }
      }
    } finally {
      await engine.close()
    }
    return { rows, tables, spare }
  }

  it('uses the memory that was in use before, and loads the same rows', async () => {
    const bytes = 2 ** 26
    const below = await rowsFrom(ARENA_START, bytes)
    for (const [where, start] of starts) {
      const high = await rowsFrom(start, bytes)
      assert.deepEqual(high.rows, below.rows, where)
      for (const at of high.tables) assert.ok(at >= high.spare && at < high.spare + bytes, `${where}: a slot at ${at}`)
    }
  })
})
