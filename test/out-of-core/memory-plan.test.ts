// The memory plan: what fits, what is refused and in which words, and that groups of blocks never outgrow a slot.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Manifest } from '../../src/block-store/manifest.ts'
import type { Store } from '../../src/block-store/reader.ts'
import { SpillwayError } from '../../src/errors.ts'
import { Arena, formatBytes } from '../../src/numeric/arena.ts'
import { BlockEngine } from '../../src/optimise/sources/block-engine.ts'
import {
  afterSplit,
  BlocksTooLarge,
  decodedBound,
  groupsOf,
  type MemoryPlan,
  MOST_FIRST_PASS,
  type PlanNeeds,
  planLines,
  planMemory,
} from '../../src/optimise/sources/memory-plan.ts'
import { NODE_BYTES } from '../../src/sizes.ts'
import { ThreadPool } from '../../src/threads/pool.ts'

interface Block {
  rows: number
  nonzeros: number
  segments: number
}

function manifestOf(blocks: Block[], valueBits: 32 | 64 = 32): Manifest {
  const sum = (field: keyof Block): number => blocks.reduce((total, block) => total + block[field], 0)
  return {
    format: 'spillway block store',
    version: 1,
    createdBy: 'a test',
    rows: sum('rows'),
    nonzeros: sum('nonzeros'),
    features: 1000,
    usedFeatures: 1000,
    indexBase: 1,
    blocks: blocks.map((block, k) => ({ ...block, file: `block-${k}.bin`, bytes: 1, checksum: '' })),
    labels: [],
    sources: [],
    split: 'random',
    seed: 1,
    valueBits,
    compression: 'none',
    transforms: {},
    fingerprint: '',
  }
}

const needs: PlanNeeds = {
  weightBytes: 8,
  alphaBytes: 8,
  mapBytes: 0,
  weights: 1000,
  perWeight: 8,
  slots: 2,
  cacheShare: 0,
}
const equal = (count: number, rows = 10_000, nonzeros = 500_000): Block[] =>
  Array.from({ length: count }, () => ({ rows, nonzeros, segments: 10 }))
const total = (parts: { bytes: number }[]): number => parts.reduce((sum, part) => sum + part.bytes, 0)
const partOf = (parts: { what: string; bytes: number }[], what: RegExp): number =>
  parts.find(part => what.test(part.what))?.bytes ?? 0
/** What a block takes of a slot, dual variables, table and order included. */
const sizeOf = (block: Block, alphaBytes = 8): number => decodedBound(block, 32) + block.rows * (8 + alphaBytes)
/** What is needed besides the blocks. */
const besides = (manifest: Manifest, some = needs): number => {
  const { parts } = planMemory(manifest, 2 ** 40, { ...some, cacheShare: 0 }, false)
  return total(parts) - partOf(parts, /loaded blocks/)
}

describe('the memory plan', () => {
  it('names every part, and they add up to no more than is allowed', () => {
    const manifest = manifestOf(equal(40))
    const memory = 400 << 20
    const plan = planMemory(manifest, memory, { ...needs, mapBytes: 12_345 }, true)
    assert.equal(partOf(plan.parts, /^Node and the program$/), NODE_BYTES)
    assert.equal(partOf(plan.parts, /^weights of 1000 features$/), 1001 * 16)
    assert.equal(partOf(plan.parts, /^dual variables of 400000 rows$/), 400_000 * 8)
    assert.equal(partOf(plan.parts, /^map of the features$/), 12_345)
    assert.equal(partOf(plan.parts, /^2 loaded blocks of at most/), 2 * (plan.slotBytes + plan.slotRows * 16))
    assert.ok(total(plan.parts) <= memory)
    assert.deepEqual(
      plan.costs,
      manifest.blocks.map(block => ({ bytes: decodedBound(block, 32), rows: block.rows })),
    )
  })

  it('leaves out what there is none of', () => {
    const { parts } = planMemory(manifestOf(equal(4)), 2 ** 30, { ...needs, alphaBytes: 0 }, true)
    assert.ok(!parts.some(part => /dual|map|cache/.test(part.what)))
  })

  it('fits to the byte, and not with one byte less', () => {
    const blocks = equal(10)
    const manifest = manifestOf(blocks)
    const least = besides(manifest) + 2 * sizeOf(blocks[0])
    const plan = planMemory(manifest, least, needs, true)
    assert.equal(plan.slotBytes, decodedBound(blocks[0], 32))
    assert.equal(plan.slotRows, 10_000)
    assert.equal(plan.slots, 2)
    assert.equal(total(plan.parts), least)
    assert.throws(() => planMemory(manifest, least - 2, needs, true), SpillwayError)
  })

  it('takes as many blocks together as the memory holds, and one slot when it holds them all', () => {
    const blocks = equal(10)
    const manifest = manifestOf(blocks)
    for (let together = 1; together < 10; together++) {
      const memory = besides(manifest) + 2 * together * sizeOf(blocks[0])
      const plan = planMemory(manifest, memory, needs, true)
      assert.equal(plan.slotRows, together * 10_000)
      assert.equal(groupsOf(plan, [...blocks.keys()]).length, Math.ceil(10 / together))
    }
    const all = planMemory(manifest, besides(manifest) + 20 * sizeOf(blocks[0]), needs, true)
    assert.equal(all.slots, 1)
    assert.deepEqual(groupsOf(all, [3, 1, 0, 2, 4, 9, 8, 7, 6, 5]), [[3, 1, 0, 2, 4, 9, 8, 7, 6, 5]])
  })

  it('without a limit to fill, leaves at least two pieces of several blocks', () => {
    for (const count of [2, 3, 8, 40]) {
      const plan = planMemory(manifestOf(equal(count)), 2 ** 34, needs, false)
      assert.ok(groupsOf(plan, [...equal(count).keys()]).length >= 2)
    }
    assert.equal(groupsOf(planMemory(manifestOf(equal(1)), 2 ** 34, needs, false), [0]).length, 1)
  })

  it('counts 12 bytes for an f64 entry and 8 for an f32 one', () => {
    const [block] = equal(1)
    assert.equal(decodedBound(block, 64) - decodedBound(block, 32), 4 * block.nonzeros)
  })

  it('keeps a share for a cache of rows', () => {
    const manifest = manifestOf(equal(10))
    const memory = 600 << 20
    const plan = planMemory(manifest, memory, { ...needs, cacheShare: 0.5 }, true)
    const left = memory - besides(manifest)
    assert.equal(plan.cacheBytes, Math.floor(left / 2))
    assert.equal(partOf(plan.parts, /^cache of rows$/), plan.cacheBytes)
    assert.ok(total(plan.parts) <= memory)
  })

  it('never plans more than a WebAssembly memory has', () => {
    const manifest = manifestOf(equal(1000, 10_000, 2_000_000))
    const plan = planMemory(manifest, 2 ** 36, needs, true)
    assert.ok(total(plan.parts) - NODE_BYTES < 2 ** 32)
    assert.ok(groupsOf(plan, [...manifest.blocks.keys()]).length > 1)
    assert.throws(() => planMemory(manifestOf(equal(2, 1000, 3e8)), 2 ** 36, needs, true), SpillwayError)
  })

  it('has room in the window for what a first pass holds until its rows have moved', () => {
    let planned = 0
    const [sizes, models, counts] = [
      [50, 130, 260, 275, 350, 530, 545, 700, 900, 1060, 1100, 1400],
      [1e6, 4e7],
      [1e4, 1e6],
    ]
    for (const [megabytes, weights, rows] of sizes.flatMap(size =>
      models.flatMap(w => counts.map(r => [size, w, r])),
    )) {
      const block = { rows, nonzeros: Math.floor((megabytes * 2 ** 20 - rows * 64) / 8), segments: 10 }
      const manifest = manifestOf(Array.from({ length: 12 }, () => block))
      if (block.nonzeros < 0) continue
      for (const fill of [true, false]) {
        const some = { ...needs, weights, cacheShare: 0.75, firstPass: () => MOST_FIRST_PASS }
        let plan: MemoryPlan
        try {
          plan = planMemory(manifest, 2 ** 36, some, fill)
        } catch (error) {
          assert.ok(error instanceof SpillwayError && megabytes > 1000, String(error))
          continue
        }
        planned++
        // As a run allocates it; nothing of it is touched.
        const arena = new Arena()
        const bytes = plan.firstPass ? MOST_FIRST_PASS : 0
        const region = { at: arena.allocate(bytes, 'the first pass'), bytes }
        if (megabytes < 900) assert.ok(plan.firstPass)
        const others = plan.parts.filter(({ what }) => !/^Node|loaded|taken|cache/.test(what))
        for (const { what, bytes } of others) arena.allocate(bytes, what)
        arena.allocate(plan.cacheBytes, 'the cache')
        const mark = arena.mark()
        arena.allocate(manifest.rows * 4, 'places of the rows')
        arena.release(mark)
        const engine = new BlockEngine(arena, { manifest } as Store, plan, {
          ...{ alphaStride: 8, trainers: 0, reader: new ThreadPool(arena.share, 0) },
        })
        if (plan.firstPass) engine.reuse(region)
        engine.vacant()
      }
    }
    assert.ok(planned > 70, `${planned} plans`)
  })

  it('counts what a first pass has taken: slots that do not go there, and the cache, have room beside it', () => {
    let counted = 0
    for (const [memory, megabytes, region] of [200, 300, 500, 1000, 3000].flatMap(memory =>
      [1, 8, 20, 60].flatMap(block => [16, 40, 120, 500].map(region => [memory, block, region])),
    )) {
      const block = { rows: 1000, nonzeros: Math.floor((megabytes * 2 ** 20) / 8), segments: 10 }
      const manifest = manifestOf(Array.from({ length: 40 }, () => block))
      const some = { ...needs, weights: 1e5, cacheShare: 0.75, firstPass: () => region << 20 }
      let plan: MemoryPlan
      try {
        plan = planMemory(manifest, memory << 20, some, true)
      } catch (error) {
        assert.ok(error instanceof SpillwayError, String(error))
        continue
      }
      if (!plan.firstPass) continue
      counted++
      const parts = plan.parts.filter(({ what }) => !/loaded|taken|cache/.test(what))
      const others = parts.reduce((sum, { bytes }) => sum + bytes, 0)
      const slot = plan.slotBytes + plan.slotRows * (8 + needs.alphaBytes)
      const outside = Math.max(0, plan.slots - Math.floor((region << 20) / slot))
      const all = others + (region << 20) + outside * slot + plan.cacheBytes
      assert.ok(all <= memory << 20, `${memory}M, blocks of ${megabytes}M, ${region}M before: ${all / 2 ** 20}M`)
    }
    assert.ok(counted > 20, `${counted} plans`)
  })

  it('is shown as a table with a sum', () => {
    const lines = planLines(
      [
        { what: 'this', bytes: 1024 },
        { what: 'and that', bytes: 3 << 20 },
      ],
      5 << 20,
    )
    assert.deepEqual(lines, [
      'this       1.00 KiB',
      'and that   3.00 MiB',
      'in all     3.00 MiB',
      'allowed    5.00 MiB',
    ])
  })
})

describe('too little memory', () => {
  const refusal = (manifest: Manifest, memory: number, some = needs): SpillwayError => {
    try {
      planMemory(manifest, memory, some, true)
    } catch (error) {
      assert.ok(error instanceof SpillwayError)
      return error
    }
    throw new Error('it was not refused')
  }

  it('is refused with the whole sum', () => {
    const blocks = equal(10, 10_000, 5_000_000)
    const manifest = manifestOf(blocks)
    const memory = 150 << 20
    const { message, advice } = refusal(manifest, memory)
    const size = sizeOf(blocks[0])
    const all = besides(manifest) + 2 * size
    const lines = message.split('\n')
    assert.equal(lines[0], '150 MiB of memory cannot work:')
    const shown = (what: string): string | undefined =>
      lines
        .find(line => line.trim().startsWith(what))
        ?.trim()
        .slice(what.length)
        .trim()
    assert.equal(shown('Node and the program'), formatBytes(NODE_BYTES))
    assert.equal(shown('weights of 1000 features'), formatBytes(1001 * 16))
    assert.equal(shown('dual variables of 100000 rows'), formatBytes(800_000))
    assert.equal(shown(`2 blocks of ${formatBytes(size)}`), formatBytes(2 * size))
    assert.equal(shown('in all'), formatBytes(all))
    assert.equal(shown('allowed'), '150 MiB')
    assert.equal(advice, `what would help: --memory ${Math.ceil((all + 2) / 2 ** 20)}M`)
  })

  /** The plan, after blocks have been split if need be. */
  const planned = (manifest: Manifest, memory: number, some: PlanNeeds): { blocks: number } => {
    try {
      planMemory(manifest, memory, some, true)
      return { blocks: manifest.blocks.length }
    } catch (error) {
      if (!(error instanceof BlocksTooLarge)) throw error
      const split = afterSplit(manifest, error.parts)
      planMemory(split, memory, some, true)
      return { blocks: split.blocks.length }
    }
  }
  const sets: [number, number, number][] = [
    [10, 10_000, 5_000_000],
    [1, 1000, 10_000],
    [3, 2_000_000, 2_000_000],
    [2, 300, 40_000_000],
  ]

  it('is refused with advice that works, once blocks have been split', () => {
    for (const [count, rows, nonzeros] of sets) {
      const manifest = manifestOf(equal(count, rows, nonzeros))
      for (const [cacheShare, reserve] of [
        [0, () => 0],
        [0.5, () => 0],
        [0.5, (memory: number) => Math.floor(memory / 3)],
      ] as const) {
        const some = { ...needs, cacheShare, reserve }
        const error = refusal(manifest, 64 << 20, some)
        assert.ok(!(error instanceof BlocksTooLarge))
        const megabytes = Number(/--memory (\d+)M/.exec(error.advice!)![1])
        planned(manifest, megabytes << 20, some)
      }
    }
  })

  it('with more memory the blocks are split, with more yet they stay: nothing between is refused', () => {
    for (const [count, rows, nonzeros] of sets) {
      const manifest = manifestOf(equal(count, rows, nonzeros))
      for (const cacheShare of [0, 0.5]) {
        const some = { ...needs, cacheShare }
        const advice = Number(/--memory (\d+)M/.exec(refusal(manifest, 64 << 20, some).advice!)![1])
        let blocks = Number.POSITIVE_INFINITY
        for (let memory = advice << 20; blocks > count; memory *= 1.1) {
          const now = planned(manifest, memory, some).blocks
          assert.ok(now <= blocks, 'more memory, fewer blocks')
          blocks = now
        }
      }
    }
  })

  it('when blocks are too large, says how many to make of each, and how much memory they would do in as they are', () => {
    const blocks = [...equal(3, 10_000, 5_000_000), ...equal(1, 1000, 50_000)]
    const manifest = manifestOf(blocks)
    const error = refusal(manifest, 150 << 20)
    assert.ok(error instanceof BlocksTooLarge)
    assert.equal(error.parts.length, 4)
    assert.ok(error.parts[0] > 1)
    assert.equal(error.parts[3], 1, 'a block that is small enough stays')
    const megabytes = Number(/--memory (\d+)M/.exec(error.advice!)![1])
    planMemory(manifest, megabytes << 20, needs, true)
    assert.throws(() => planMemory(manifest, (megabytes - 1) << 20, needs, true), BlocksTooLarge)
  })

  it('gives the same advice for a store and for its text, whatever is left alone', () => {
    const manifest = manifestOf(equal(3, 10_000, 5_000_000))
    const some = { ...needs, weights: 8_000_000 }
    const namedReserve = (memory: number): number => Math.floor(memory / 10)
    const advice = [() => 0, namedReserve].map(
      reserve => refusal(manifest, 150 << 20, { ...some, reserve, namedReserve }).advice,
    )
    assert.equal(advice[0], advice[1])
  })

  it('is told of narrower weights only where they would do', () => {
    const manifest = manifestOf(equal(10, 10_000, 5_000_000))
    const many = { ...needs, weights: 10_000_000 }
    const narrow = { ...many, weightBytes: 4 }
    assert.match(refusal(manifest, 240 << 20, { ...many, narrow }).advice!, /or --weights f32$/)
    planned(manifest, 240 << 20, narrow)
    assert.doesNotMatch(refusal(manifest, 180 << 20, { ...many, narrow }).advice!, /--weights/)
    assert.doesNotMatch(refusal(manifest, 180 << 20, narrow).advice!, /--weights/)
  })

  it('is told that no memory would do when a run cannot address so much', () => {
    const manifest = manifestOf(equal(10))
    assert.match(refusal(manifest, 2 ** 36, { ...needs, weights: 300_000_000 }).advice!, /^no --memory would do/)
  })

  it('is refused for every tiny budget, none goes through or fails otherwise', () => {
    const manifest = manifestOf(equal(3))
    for (const memory of [1, 1000, 1 << 20, 64 << 20, NODE_BYTES, NODE_BYTES + 1]) refusal(manifest, memory)
  })
})

describe('groups of blocks', () => {
  const blocks = fc.array(
    fc.record({
      rows: fc.integer({ min: 0, max: 100_000 }),
      nonzeros: fc.integer({ min: 0, max: 3_000_000 }),
      segments: fc.integer({ min: 0, max: 50 }),
    }),
    { minLength: 1, maxLength: 60 },
  )

  it('hold every block once, in order, and never more than a slot', () => {
    fc.assert(
      fc.property(
        blocks,
        fc.integer({ min: 0, max: 2 ** 31 }),
        fc.constantFrom(0, 8, 16),
        fc.constantFrom(0, 0.5),
        fc.boolean(),
        fc.integer({ min: 1, max: 1000 }),
        (some, extra, alphaBytes, cacheShare, fill, turn) => {
          const manifest = manifestOf(some)
          const asked = { ...needs, alphaBytes, cacheShare }
          const most = (pick: (block: Block) => number): number => Math.max(...some.map(pick))
          const largest = most(block => decodedBound(block, 32)) + most(block => block.rows) * (8 + alphaBytes)
          const memory = besides(manifest, asked) + Math.ceil((2 * largest) / (1 - cacheShare)) + 4 + extra
          const plan = planMemory(manifest, memory, asked, fill)
          assert.ok(total(plan.parts) <= memory, `${total(plan.parts)} of ${memory}`)
          const order = some.map((_, k) => k).sort((a, b) => ((a * turn) % 61) - ((b * turn) % 61))
          const groups = groupsOf(plan, order)
          assert.deepEqual(groups.flat(), order)
          for (const group of groups) {
            assert.ok(group.length > 0)
            const bytes = group.reduce((sum, k) => sum + plan.costs[k].bytes, 0)
            const rows = group.reduce((sum, k) => sum + plan.costs[k].rows, 0)
            assert.ok(bytes <= plan.slotBytes && rows <= plan.slotRows)
          }
        },
      ),
      { numRuns: 400, seed: 5 },
    )
  })

  it('go together as long as the next one fits', () => {
    const plan = planMemory(manifestOf(equal(6)), besides(manifestOf(equal(6))) + 4 * sizeOf(equal(1)[0]), needs, true)
    assert.deepEqual(groupsOf(plan, [5, 4, 3, 2, 1, 0]), [
      [5, 4],
      [3, 2],
      [1, 0],
    ])
    assert.deepEqual(groupsOf(plan, []), [])
  })
})
