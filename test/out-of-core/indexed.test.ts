// Solver indexed: the optimum of other solvers with fewer rows looked at, the paper's stopping rules, one index for all
// classes and costs, kills and resuming, rows that are added, and what it refuses.
import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { SpillwayError } from '../../src/errors.ts'
import { scoreRow } from '../../src/model/model.ts'
import { indexed as indexedSolver } from '../../src/optimise/solvers/indexed.ts'
import { buildIndex } from '../../src/sample-index/build-index.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planFor } from '../../src/train/plan-for-blocks.ts'
import { type TuneOptions, tune } from '../../src/train/tune.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { clusteredRows, plainRows, storeOf } from '../sample-index/fixture.ts'
import { isSlow } from '../slow.ts'
import { abortAfter, assertSameModel, copyStore, fastFolder, threeClasses, told } from './fixture.ts'

const folder = fastFolder()
let store = ''
let copies = 0
const fresh = (): string => copyStore(store, join(folder.path, `copy-${++copies}.spill`))

/** Two classes that lie far apart but for a few rows in between: only those matter. */
function apartRows(rows: number, seed: number): string {
  const random = randomNumbers(seed)
  return Array.from({ length: rows }, () => {
    const label = random() < 0.5 ? 1 : -1
    const distance = random() < 0.05 ? random() * 0.3 : 1 + random()
    const x = [label * distance, ...Array.from({ length: 4 }, () => random() - 0.5)]
    return `${label} ${x.map((value, j) => `${j + 1}:${Math.fround(value)}`).join(' ')}`
  }).join('\n')
}

before(async () => {
  store = await storeOf(folder, 'apart', apartRows(20_000, 5), { blocks: 4 })
  await buildIndex(store, { threads: 1, leafBytes: 1024, treeRows: 2000 })
})

const indexed = (more: TrainOptions = {}): TrainOptions => ({ solver: 'indexed', tolerance: 1e-4, ...more })

async function refused(work: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(work, (error: SpillwayError) => {
    assert.ok(error instanceof SpillwayError, `${error}`)
    assert.match(error.message, words)
    return true
  })
}

describe('solver indexed', () => {
  for (const loss of ['hinge', 'squared-hinge'] as const) {
    it(`reaches the optimum of solver dual, ${loss}, and looks at few rows`, async () => {
      const options = { loss, cost: 10, bias: 1 }
      const { result } = await told(fresh(), indexed(options))
      const other = await told(store, { solver: 'dual', tolerance: 1e-5, ...options })
      assert.equal(result.exitReason, 'converged')
      assert.ok(result.gap! <= 1e-4)
      assert.ok(Math.abs(result.primal! - other.result.primal!) <= 2e-4 * other.result.primal!)
      const { rowsTouched, pagesRead } = result.blocks!.index!
      assert.ok(rowsTouched < 0.9 * result.rows, `${rowsTouched} of ${result.rows} rows were looked at`)
      assert.ok(pagesRead > 0)
    })
  }

  it('solves the active set by second-order steps where that is asked for', async () => {
    for (const more of [
      { cost: 10, bias: 1 },
      { cost: 0.01, classWeights: { '1': 2 } },
    ] as TrainOptions[]) {
      const options: TrainOptions = { loss: 'squared-hinge', ...more }
      const { result } = await told(fresh(), indexed({ ...options, indexMethod: 'newton', tolerance: 1e-6 }))
      const other = await told(store, { solver: 'newton', tolerance: 1e-8, ...options })
      assert.equal(result.exitReason, 'converged')
      assert.ok(result.gap! <= 1e-6)
      assert.ok(Math.abs(result.primal! - other.result.primal!) <= 2e-6 * other.result.primal!)
      assert.ok(result.blocks!.index!.rowsTouched < result.rows)
    }
    await refused(
      told(store, indexed({ indexMethod: 'newton' })),
      /the hinge loss is not compatible with indexMethod newton: missing a second derivative/,
    )
    await refused(
      told(store, indexed({ loss: 'squared-hinge', indexMethod: 'newton', weights: 'f32' })),
      /weights f32 are not compatible with indexMethod newton/,
    )
  })

  it('knows costs of classes, rows of unit length, f32 weights and the whole index', async () => {
    for (const more of [
      { classWeights: { '1': 3 }, cost: 0.1 },
      { normalize: 'unit', cost: 2 },
      { weights: 'f32', tolerance: 1e-3 },
      { indexStop: 'exact', loss: 'squared-hinge' },
      { shrinking: false },
    ] as TrainOptions[]) {
      const { result } = await told(fresh(), indexed(more))
      const { indexStop: _, ...others } = more
      const other = await told(store, { ...others, solver: 'dual', tolerance: 1e-5 })
      assert.equal(result.exitReason, 'converged', JSON.stringify(more))
      assert.ok(
        result.primal! <= (1 + 1e-3) * other.result.primal! && result.primal! >= (1 - 1e-4) * other.result.primal!,
      )
    }
  })

  it('serves every class and cost with one index', async () => {
    const path = await storeOf(folder, 'three', threeClasses(1500, 3), { blocks: 3 })
    await buildIndex(path, { threads: 1, leafBytes: 512 })
    const times = (): number[] =>
      readdirSync(join(path, 'index')).map(name => statSync(join(path, 'index', name)).mtimeMs)
    const built = times()
    for (const cost of [0.1, 1]) {
      const { result } = await told(path, indexed({ cost, bias: 1, tolerance: 1e-3 }))
      const other = await told(path, { solver: 'dual', tolerance: 1e-4, cost, bias: 1 })
      assert.equal(result.classes, 3)
      assert.ok(Math.abs(result.primal! - other.result.primal!) <= 2e-3 * other.result.primal!)
    }
    assert.deepEqual(times(), built)
  })

  it('serves folds and costs with one index, and calibrates by it', async () => {
    const copy = fresh()
    const times = (): number[] =>
      readdirSync(join(copy, 'index')).map(name => statSync(join(copy, 'index', name)).mtimeMs)
    const built = times()
    const options: TuneOptions = { folds: 3, costs: [0.1, 1], bias: 1, tolerance: 1e-4 }
    const tuned = await tune(copy, { ...options, solver: 'indexed' })
    const other = await tune(store, { ...options, solver: 'block' })
    for (const [c, { folds }] of tuned.costs.entries()) {
      for (const [k, fold] of folds.entries()) {
        const expected = other.costs[c].folds[k]
        assert.equal(fold.rows, expected.rows)
        assert.ok(Math.abs(fold.accuracy - expected.accuracy) <= 0.005, `${fold.accuracy}, ${expected.accuracy}`)
        assert.ok(fold.gap <= 1e-4)
      }
    }
    assert.equal(tuned.final!.solver, 'indexed')
    assert.ok(tuned.final!.blocks!.index!.rowsTouched < tuned.rows)
    const calibrated = await told(copy, indexed({ calibrate: 'sigmoid', bias: 1 }))
    const plain = await told(store, { solver: 'block', calibrate: 'sigmoid', bias: 1, tolerance: 1e-4 })
    const [own, expected] = [calibrated, plain].map(({ result }) => result.model.calibrations![0])
    assert.ok(own.kind === 'sigmoid' && expected.kind === 'sigmoid')
    assert.ok(Math.abs(own.slope - expected.slope) <= 0.02 * Math.abs(expected.slope))
    assert.deepEqual(times(), built)
  })

  it('builds the index where there is none, and says so', async () => {
    const path = await storeOf(folder, 'bare', clusteredRows(400, 6, { seed: 3 }))
    const { records, result } = await told(path, indexed({ tolerance: 1e-3 }))
    assert.ok(
      records.some(record => record.stage === 'plan' && /building the index of .*bare\.spill/.test(record.reason)),
    )
    assert.equal(result.exitReason, 'converged')
    const again = await told(path, indexed({ tolerance: 1e-3, cost: 2 }))
    assert.ok(!again.records.some(record => record.stage === 'plan' && /building the index/.test(record.reason)))
  })
})

describe('the plan of solver indexed', () => {
  it('has room for the vectors and the matrix of second-order steps only where they are taken', async () => {
    const opened = await openStore(store)
    const forWeights = async (options: TrainOptions): Promise<number> => {
      const { parts } = await planFor(
        opened,
        indexedSolver,
        resolveOptions(indexed({ loss: 'squared-hinge', ...options })),
      )
      return parts.find(({ what }) => what.startsWith('weights'))!.bytes
    }
    const weights = opened.manifest.usedFeatures + 1
    const plain = await forWeights({})
    assert.equal(await forWeights({ indexMethod: 'dual' }), plain)
    // A weight, its copy in the model, and what it was before the last sweep.
    assert.equal(plain, 24 * weights)
    assert.ok((await forWeights({ indexMethod: 'newton' })) >= plain - 8 * weights + 16 * weights ** 2)
  })
})

describe('an active set that outgrows the memory', () => {
  const memory = '145M'
  let large = ''
  before(async () => {
    large = await storeOf(folder, 'large', clusteredRows(60_000, 24, { seed: 31, density: 1 }), { blocks: 24 })
    await buildIndex(large, { threads: 1 })
  })
  const mostKept = (records: Awaited<ReturnType<typeof told>>['records']): number =>
    Math.max(...records.map(record => (record.stage === 'train' ? (record.rows?.kept ?? 0) : 0)))

  for (const [loss, indexMethod] of [
    ['hinge', 'dual'],
    ['squared-hinge', 'dual'],
    ['squared-hinge', 'newton'],
    ['ramp', 'dual'],
    ['truncated-squared-hinge', 'newton'],
  ] as const) {
    it(`leaves rows in their blocks, and ends at the same objective: ${loss}, ${indexMethod}`, async () => {
      const options: TrainOptions = { loss, cost: 1e-4 }
      // Who asks for searches of the whole index gets them, though they look at most rows.
      const own: TrainOptions = { indexMethod, indexStop: 'exact', memory, cold: true }
      const small = await told(large, indexed({ ...options, ...own }))
      assert.equal(small.result.exitReason, 'converged')
      const { supportVectors, primal, blocks } = small.result
      assert.equal(blocks!.index!.leftFor, undefined)
      const kept = mostKept(small.records)
      assert.ok(supportVectors! > 1.5 * kept, `${supportVectors} support vectors, ${kept} of them in memory`)
      const other = await told(large, { solver: 'dual', tolerance: 1e-5, ...options })
      assert.ok(Math.abs(primal! - other.result.primal!) <= 2e-4 * other.result.primal!)
    })
  }

  it('is the same however often a run is stopped', async () => {
    await assertSameWhenStopped({ cost: 1e-3, loss: 'squared-hinge', memory, indexStop: 'exact' }, 'large')
  })

  const assertSameWhenStopped = async (more: TrainOptions, name: string): Promise<void> => {
    const options = indexed({ checkpointSeconds: 0, ...more })
    const whole = await told(copyStore(large, join(folder.path, `${name}-whole.spill`)), options)
    const copy = copyStore(large, join(folder.path, `${name}-stopped.spill`))
    let stops = 0
    for (; stops < 50; stops++) {
      const { result } = await abortAfter(copy, { ...options, resume: true }, (isSlow ? 2 : 4) + 2 * stops)
      if (result.exitReason === 'interrupted') continue
      assertSameModel(result, whole.result)
      // Pages that were in memory are read again.
      const asked = ({ blocks }: typeof result) => [blocks!.index!.rowsTouched, blocks!.index!.leftFor]
      assert.deepEqual(asked(result), asked(whole.result))
      break
    }
    assert.ok(stops > 1 && stops < 50, `${stops} stops`)
  }

  for (const { loss, own, leftFor } of [
    { loss: 'hinge', own: { memory }, leftFor: 'stream' },
    { loss: 'ramp', own: { memory }, leftFor: 'stream' },
    { loss: 'squared-hinge', own: { memory, indexMethod: 'newton' }, leftFor: 'newton' },
    { loss: 'truncated-squared-hinge', own: { memory, indexMethod: 'newton' }, leftFor: 'newton' },
    { loss: 'truncated-squared-hinge', own: { indexMethod: 'newton' }, leftFor: 'newton' },
  ] as { loss: NonNullable<TrainOptions['loss']>; own: TrainOptions; leftFor: string }[]) {
    const place = own.memory ? 'over blocks' : 'in memory'
    it(`is left for ${leftFor} ${place} where searches look at most rows: ${loss}`, async () => {
      const options: TrainOptions = { loss, cost: 1e-4, outlierStart: 'full' }
      if (!/ramp|truncated/.test(loss)) delete options.outlierStart
      const { result } = await told(large, indexed({ ...options, ...own, cold: true }))
      assert.equal(result.exitReason, 'converged')
      const { index, count, read } = result.blocks!
      assert.equal(index!.leftFor, leftFor)
      assert.ok(index!.rowsTouched < result.rows, 'searches end when it is known that they look at most rows')
      // Rows in memory are read once, but for the looks at outliers.
      if (!own.memory) assert.ok(read <= (2 + result.relaxations! + 1) * count, `${read} blocks`)
      const batch = await told(large, { solver: leftFor, tolerance: 1e-4, ...options, cold: true })
      assert.ok(Math.abs(result.primal! - batch.result.primal!) <= 1e-3 * batch.result.primal!)
    })

    it(`and is the same however often it is stopped: ${loss}, ${leftFor} ${place}`, async () => {
      const outlierStart = /ramp|truncated/.test(loss) ? { outlierStart: 'full' as const } : {}
      await assertSameWhenStopped({ cost: 1e-4, loss, ...outlierStart, ...own }, `left-${loss}-${place.slice(0, 2)}`)
    })
  }

  it('is refused where the memory has no room for a few rows of it, with the arithmetic', async () => {
    await refused(told(large, indexed({ memory: '116M' })), /rows that stay in memory, at least/)
  })
})

describe("the paper's rules", () => {
  it('end a run when fewer rows are left than were allowed, in all of the index or by a sample', async () => {
    const { rows } = await plainRows(store)
    const gaps: number[] = []
    for (const { indexStop, indexLeft } of [
      { indexStop: 'exact', indexLeft: 1 },
      { indexStop: 'exact', indexLeft: 100 },
      { indexStop: 'sampled', indexLeft: 100 },
    ] as const) {
      const { result, certificates } = await told(fresh(), indexed({ cost: 10, indexStop, indexLeft, tolerance: 1e-2 }))
      assert.equal(result.exitReason, 'converged')
      assert.equal(certificates, 1)
      const { model } = result
      // Of two classes one vector scores the first label against the other.
      const positive = (await plainRows(store)).store.manifest.labels.findIndex(
        ({ text }) => text === model.labels[0].text,
      )
      const below = rows.filter(row => {
        const [score] = scoreRow(model, row.indices, row.values)
        return (row.class === positive ? score : -score) < 1 - 1e-6
      })
      // Rows below the margin that do not support the model were not found, or were found by the last search.
      const left = below.length - result.supportVectors!
      assert.ok(left < 2 * indexLeft + 20, `${left} rows are left of ${below.length}`)
      gaps.push(result.gap!)
    }
    assert.ok(gaps[0] <= 1e-2, `all rows were found, and the gap is ${gaps[0]}`)
  })
})

describe('a run of solver indexed', () => {
  it('that is stopped and resumed ends in the same bits', async () => {
    for (const more of [{}, { loss: 'squared-hinge', indexMethod: 'newton' }] as TrainOptions[]) {
      const options = indexed({ cost: 10, checkpointSeconds: 0, ...more })
      const whole = await told(fresh(), options)
      for (const records of isSlow ? [1, 2, Math.floor(whole.train.length / 2)] : [2]) {
        const copy = fresh()
        const first = await abortAfter(copy, options, records)
        assert.equal(first.result.exitReason, 'interrupted')
        const { result } = await told(copy, { ...options, resume: true })
        assert.equal(result.start, 'resumed')
        assertSameModel(result, whole.result)
      }
    }
  })

  it('goes on with a tighter tolerance, and from the last training after rows were added', async () => {
    const copy = fresh()
    await told(copy, indexed({ cost: 10, tolerance: 1e-2 }))
    const tighter = await told(copy, indexed({ cost: 10, tolerance: 1e-4, resume: true }))
    assert.equal(tighter.result.exitReason, 'converged')
    assert.ok(tighter.result.gap! <= 1e-4)
    await addRows(folder.write('added.svm', `${apartRows(1000, 9)}\n`), copy, { threads: 1 })
    const { result } = await told(copy, indexed({ cost: 10 }))
    assert.equal(result.start, 'warm')
    assert.equal(result.rows, 21_000)
    const other = await told(copy, { solver: 'dual', tolerance: 1e-5, cost: 10 })
    assert.ok(Math.abs(result.primal! - other.result.primal!) <= 2e-4 * other.result.primal!)
  })

  it('refuses what its index does not know', async () => {
    await refused(told(store, indexed({ scale: 'minmax' })), /the option scale is not compatible with solver indexed/)
    await refused(told(store, indexed({ kernel: 'chi2' })), /a kernel is not compatible with solver indexed/)
    await refused(told(store, indexed({ expand: 'polynomial:2' })), /the option expand is not compatible/)
    await refused(told(store, indexed({ loss: 'logistic' })), /the logistic loss is not compatible with solver indexed/)
    await refused(
      told(store, { solver: 'block', indexLeft: 5 }),
      /the option indexLeft is not compatible with solver block: it would be ignored/,
    )
  })
})
