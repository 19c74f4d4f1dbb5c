// The memory plan of rows that are expanded: reckoned by what they become, with weights for the features that occur after the
// expansion, in the precision that fits; and rooms that hold what is loaded into them.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore, type Store } from '../../src/block-store/reader.ts'
import { SpillwayError } from '../../src/errors.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { findSolver } from '../../src/optimise/solvers/all-solvers.ts'
import type { BlockSolver } from '../../src/optimise/solvers/solver.ts'
import { BlockEngine } from '../../src/optimise/sources/block-engine.ts'
import { decodedBound, groupsOf } from '../../src/optimise/sources/memory-plan.ts'
import { sampleText } from '../../src/rows/sample-text.ts'
import { PROGRAM_PAGES } from '../../src/sizes.ts'
import { chooseSolver, recordBytes } from '../../src/train/choose-solver.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planFor } from '../../src/train/plan-for-blocks.ts'
import { rowsOfStore } from '../../src/train/rows-of-store.ts'
import { train } from '../../src/train/train.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { asStrings, motifStrings } from '../train/letters.ts'
import { fastFolder, linesOf } from './fixture.ts'

const folder = fastFolder()
const block = findSolver('block') as BlockSolver
let strings: Store
let numbers: Store
let text: string

before(async () => {
  text = folder.write('strings.txt', asStrings(motifStrings(3000, 60, 2)))
  await ingest(text, join(folder.path, 'strings.spill'), { blocks: 12 })
  strings = await openStore(join(folder.path, 'strings.spill'))
  const sparse = noisyRows(400, 12, 4).replace(/(\d+):/g, (_, index) => `${Number(index) * 7000}:`)
  await ingest(folder.write('numbers.svm', `${sparse}\n`), join(folder.path, 'numbers.spill'), { blocks: 4 })
  numbers = await openStore(join(folder.path, 'numbers.spill'))
})

const partOf = (parts: { what: string; bytes: number }[], what: RegExp): number =>
  parts.find(part => what.test(part.what))?.bytes ?? 0

describe('the plan of expanded rows', () => {
  for (const expand of ['weighted-degree:8', 'weighted-degree:6+hash:18', 'weighted-degree:1+polynomial:2']) {
    it(`has room for what ${expand} makes of every block`, async () => {
      const options = resolveOptions({ expand })
      const arena = new Arena()
      const rows = await rowsOfStore(strings, options, arena)
      const plan = await planFor(strings, block, options, { rows })
      const engine = new BlockEngine(arena, strings, plan, { alphaStride: 8 })
      try {
        engine.transformBy({ expand, map: await rows.placeMap(arena), factors: 0, unit: true, plain: false })
        const nonzeros: number[] = []
        for await (const loaded of engine.pass(groupsOf(plan, [...plan.costs.keys()]))) {
          const bound = loaded.parts.reduce((sum, part) => sum + plan.costs[part.block].bytes, 0)
          assert.ok(loaded.packedBytes <= bound, `${loaded.packedBytes} of ${bound}`)
          // The bound is close: room that is never used would be taken from other blocks.
          assert.ok(loaded.packedBytes > 0.8 * bound, `${loaded.packedBytes} of ${bound}`)
          nonzeros.push(loaded.nonzeros)
        }
        assert.equal(
          nonzeros.reduce((sum, count) => sum + count, 0),
          rows.nonzeros,
        )
      } finally {
        await engine.close()
      }
      const { entryBytes } = rows
      const { threadBytes } = rows.expanded!
      assert.equal(entryBytes, expand === 'weighted-degree:8' ? 4 : 8)
      assert.deepEqual(
        plan.costs.map(cost => cost.bytes),
        strings.manifest.blocks.map((entry, k) =>
          decodedBound({ ...entry, nonzeros: rows.expanded!.nonzeros[k] }, 32, entryBytes),
        ),
      )
      assert.equal(partOf(plan.parts, /^expanding, two threads$/), 2 * threadBytes)
      assert.ok(threadBytes > 1e5)
    })
  }

  it('has weights for features that occur after the expansion, whatever occurred before it', async () => {
    // Of 84,000 features twelve occur; of 3.5 billion products as many as twelve have.
    assert.ok(numbers.manifest.usedFeatures === 12 && numbers.manifest.features === 84_000)
    const expanded = await rowsOfStore(numbers, resolveOptions({ expand: 'polynomial:2' }))
    assert.equal(expanded.features, (84_000 * 84_003) / 2)
    assert.equal(expanded.weights, (12 * 15) / 2)
    const hashed = await rowsOfStore(numbers, resolveOptions({ expand: 'hash:3' }))
    assert.equal(hashed.features, 8)
    const plain = await rowsOfStore(numbers, resolveOptions({}))
    assert.deepEqual([plain.features, plain.weights, plain.expanded], [84_000, 12, undefined])
    const options: TrainOptions = { expand: 'polynomial:2', tolerance: 1e-5, cost: 0.1 }
    const inMemory = await train(numbers.folder, { ...options, solver: 'dual' }).result
    const inBlocks = await train(numbers.folder, { ...options, solver: 'block' }).result
    assert.ok(Math.abs(inMemory.primal! - inBlocks.primal!) <= 3e-5 * inMemory.primal!)
    assert.equal(inBlocks.features, expanded.features)
  })

  it('keeps weights once: the model borrows them', async () => {
    const options = resolveOptions({ expand: 'weighted-degree:8' })
    const { weights } = await rowsOfStore(strings, options)
    const plan = await planFor(strings, block, options)
    assert.equal(partOf(plan.parts, /^weights of \d+ features$/), (weights + 1) * 8)
  })

  it('takes f32 weights when f64 do not fit, unless the user said f64; and says what would help', async () => {
    const options = { expand: 'weighted-degree:8', solver: 'block' }
    const free = await planFor(strings, block, resolveOptions(options))
    const { weights } = await rowsOfStore(strings, resolveOptions(options))
    const besides = free.parts
      .filter(part => !/loaded|weights/.test(part.what))
      .reduce((sum, part) => sum + part.bytes, 0)
    const blocks = 2 * (Math.max(...free.costs.map(cost => cost.bytes)) + 400 * 16)
    // Room for weights of six bytes each.
    const memory = besides + PROGRAM_PAGES + weights * 6 + blocks
    const run = train(strings.folder, { ...options, memory, maxPasses: 2 })
    const lines: string[] = []
    for await (const record of run) if (record.stage === 'plan') lines.push(...linesOf(record))
    assert.ok(
      lines.some(line => /^weights of \d+ features, f32/.test(line)),
      lines.join('\n'),
    )
    const { model } = await run.result
    assert.ok(model.weights.layout === 'lent' && model.weights.values instanceof Float32Array)
    const refused = (more: TrainOptions, advice: RegExp): Promise<void> =>
      assert.rejects(train(strings.folder, { ...options, memory, ...more }).result, (error: SpillwayError) => {
        assert.ok(error instanceof SpillwayError)
        assert.match(error.message, /of memory cannot work:\n[\s\S]*weights of \d+ features/)
        assert.match(error.advice ?? '', advice)
        return true
      })
    await refused({ weights: 'f64' }, /--weights f32/)
    await refused({ memory: (93 << 20) + PROGRAM_PAGES }, /--memory \d+M/)
  })

  it('advises to hash where weights take most of the memory', async () => {
    const options = resolveOptions({ expand: 'weighted-degree:8', memory: 100 << 20, weights: 'f64' })
    const rows = { ...(await rowsOfStore(strings, options)), weights: 30_000_000 }
    await assert.rejects(planFor(strings, block, options, { rows }), (error: SpillwayError) => {
      assert.match(
        error.advice ?? '',
        /^what would help: --memory \d+M, or fewer weights by hashing: --expand …\+hash:22$/,
      )
      return true
    })
  })
})

describe('whether expanded rows fit in memory', () => {
  const choose = async (path: string, options: TrainOptions): Promise<string> =>
    (await chooseSolver([path], resolveOptions(options))).solver.name

  it('is judged by what they become', async () => {
    const options = resolveOptions({ expand: 'weighted-degree:8' })
    const sample = (await sampleText(text, options))!
    assert.equal(sample.features, 60 * 87_380)
    const bytes = recordBytes(sample, options)
    assert.ok(bytes > 26 && bytes < 34, `${bytes} bytes for a byte of text`)
    assert.equal(await choose(text, { memory: '176M' }), 'dual')
    assert.equal(await choose(text, { memory: '176M', expand: 'weighted-degree:8' }), 'block')
    assert.equal(await choose(text, { memory: '2G', expand: 'weighted-degree:8' }), 'dual')
    assert.equal(await choose(strings.folder, { memory: '176M', expand: 'weighted-degree:8' }), 'block')
    assert.equal(await choose(strings.folder, { memory: '2G', expand: 'weighted-degree:8' }), 'dual')
  })

  it('and so are letters that are not expanded: four bytes each', async () => {
    const options = resolveOptions({})
    const sample = (await sampleText(text, options))!
    const bytes = recordBytes(sample, options)
    assert.ok(bytes > 4 && bytes < 5, `${bytes} bytes for a byte of text`)
    assert.equal(sample.features, 60)
    const arena = new Arena()
    const rows = await rowsOfStore(strings, options)
    const plan = await planFor(strings, block, options, { rows })
    const engine = new BlockEngine(arena, strings, plan, { alphaStride: 8 })
    try {
      for await (const loaded of engine.pass(groupsOf(plan, [...plan.costs.keys()]))) {
        const bound = loaded.parts.reduce((sum, part) => sum + plan.costs[part.block].bytes, 0)
        assert.ok(loaded.packedBytes <= bound && loaded.packedBytes > 0.8 * bound, `${loaded.packedBytes} of ${bound}`)
      }
    } finally {
      await engine.close()
    }
    // Numbers take about as much as their text: there is nothing to look at.
    assert.equal(await sampleText(join(folder.path, 'numbers.svm'), resolveOptions({})), undefined)
  })

  it('is not promised where rows grow out of proportion', async () => {
    assert.equal(await choose(numbers.folder, { memory: '2G', expand: 'polynomial:2' }), 'block')
    assert.equal(await choose(numbers.folder, { expand: 'polynomial:2' }), 'dual')
    await assert.rejects(
      chooseSolver([numbers.folder], resolveOptions({ memory: '2G', expand: 'polynomial:2', solver: 'dual' })),
      /solver dual keeps all rows in memory/,
    )
  })
})

describe('text of expanded rows', () => {
  it('is drawn into as many blocks as their size in memory asks for', async () => {
    const store = join(folder.path, 'drawn.spill')
    const { blocks } = await train(text, {
      expand: 'weighted-degree:8',
      solver: 'block',
      memory: '159M',
      store,
      maxPasses: 2,
    }).result
    assert.ok(blocks!.count >= 2, `${blocks!.count} blocks`)
    const { count, read } = blocks!
    assert.ok(read >= 2 * count)
    // The same command finds its store again; another expansion may draw anew.
    const again = train(text, { expand: 'weighted-degree:8', solver: 'block', memory: '159M', store, maxPasses: 2 })
    const reasons: string[] = []
    for await (const record of again) if (record.stage === 'plan') reasons.push(record.reason)
    assert.ok(reasons.includes(`the text is in ${store} already`), reasons.join('; '))
  })
})
