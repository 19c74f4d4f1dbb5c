// Which solver runs, why, and what is refused before any work starts.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError, UsageError } from '../../src/errors.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { NODE_BYTES, PROGRAM_PAGES } from '../../src/sizes.ts'
import { bytesBySamples, chooseSolver, roomForModels } from '../../src/train/choose-solver.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { fastFolder, linesOf, noisyStore, padded, told } from './fixture.ts'

const folder = fastFolder()
let text = ''
let store = ''
before(async () => {
  store = await noisyStore(folder, 'rows')
  text = join(folder.path, 'rows.svm')
})
const choice = async (paths: string[], options: TrainOptions = {}) => {
  const { solver, reason } = await chooseSolver(paths, resolveOptions(options))
  return { name: solver.name, data: solver.data, dual: solver.data === 'memory' || solver.dual, reason }
}

describe('a store that was named for a solver of memory and blocks', () => {
  it('is refused where blocks do not fit, with the memory that the run would take without it', async () => {
    const few = folder.write('few.svm', `${noisyRows(9000, 25, 1)}\n`)
    for (const solver of ['newton', 'lbfgs']) {
      const options: TrainOptions = { solver, loss: 'logistic', memory: '151M' }
      const named = { ...options, store: join(folder.path, `${solver}.spill`) }
      const refused = await train(few, named).result.catch((error: unknown) => error)
      assert.ok(refused instanceof SpillwayError)
      assert.match(refused.advice!, /--memory \d+M, or no --store: in memory the run takes about \d+ MiB$/)
      assert.equal((await train(few, options).result).exitReason, 'converged')
      const memory = /--memory (\d+M)/.exec(refused.advice!)![1]
      assert.equal((await train(few, { ...named, memory }).result).exitReason, 'converged')
    }
  })
})

describe('text of which hardly a feature comes twice', () => {
  it('does not fit where its weights do not', async () => {
    const line = (row: number, first: number): string =>
      `${row % 2 ? '+1' : '-1'} ${Array.from({ length: 100 }, (_, k) => `${first + k}:1`).join(' ')}`
    const texts = [1, 100].map(step =>
      Array.from({ length: 10_000 }, (_, row) => line(row, 1_000_000 + (step === 1 ? row % 50 : row * 100))).join('\n'),
    )
    const [often, once] = texts.map((rows, k) => folder.write(`used-${k}.svm`, `${rows}\n`))
    const memory = '170M'
    assert.equal((await choice([often], { memory })).name, 'dual')
    assert.equal((await choice([once], { memory })).data, 'blocks')
    assert.equal((await choice([once])).name, 'dual', 'nobody named a memory')
  })
})

describe('an index', () => {
  it('is proposed for a store of few features that does not fit, where a search knows the rows', async () => {
    const rows = folder.write('narrow.svm', `${noisyRows(40_000, 5, 1)}\n`)
    const narrow = join(folder.path, 'narrow.spill')
    await ingest(rows, narrow, { blocks: 8 })
    const proposes = async (data: string, more: TrainOptions = {}): Promise<boolean> => {
      const { reason } = await choice([data], { memory: '100M', ...more })
      assert.match(reason, /more than 100 MiB, and there are few features/)
      return /; where classes lie apart, --solver indexed reads less$/.test(reason)
    }
    assert.ok(await proposes(narrow, { loss: 'squared-hinge' }))
    assert.ok(!(await proposes(rows, { loss: 'squared-hinge' })), 'text has no index')
    assert.ok(!(await proposes(narrow, { loss: 'logistic' })))
    assert.ok(!(await proposes(narrow, { loss: 'squared-hinge', scale: 'minmax' })))
  })
})

describe('the choice of the solver', () => {
  it('is dual when the data fits, and says how much it takes', async () => {
    for (const data of [text, store]) {
      for (const memory of [undefined, '1G', '160M']) {
        const { name, reason } = await choice([data], { memory })
        assert.equal(name, 'dual')
        assert.match(
          reason,
          /^the data takes about \d+ MiB in memory, which fits in (the )?[\d.]+ [MG]iB( that a run can hold)?$/,
        )
      }
    }
  })

  it('is one over blocks, with a certificate, when it does not, and says what there is', async () => {
    for (const data of [text, store]) {
      const { data: kind, dual, reason } = await choice([data], { memory: '110M' })
      assert.equal(kind, 'blocks')
      assert.ok(dual)
      assert.match(reason, /^the data takes about \d+ MiB in memory, more than 110 MiB$/)
    }
  })

  it('counts pages of the program under a limit, where few rows leave no room for them', async () => {
    const needed = async (path: string, options: TrainOptions = {}): Promise<number> =>
      Number(/about (\S+) MiB/.exec((await choice([path], options)).reason)![1])
    for (const data of [text, store]) assert.equal(await needed(data), await needed(data, { memory: '1G' }))
    const large = folder.write('large.svm', padded(`${noisyRows(2000, 25, 3)}`, 40 << 20))
    const [free, limited] = [await needed(large), await needed(large, { memory: '1G' })]
    assert.ok(Math.abs(limited - free - PROGRAM_PAGES / 2 ** 20) <= 1, `${limited} MiB under a limit, ${free} without`)
    const { name } = await choice([large], { memory: `${Math.floor(free) + 16}M`, loss: 'logistic' })
    assert.notEqual(name, 'dual')
  })

  it('leaves models no more room than it promised: pages of the program are not theirs', () => {
    const arena = new Arena()
    const memory = 512 << 20
    const besides = NODE_BYTES + arena.mark()
    assert.equal(roomForModels(arena, 100 << 20, { memory }), memory - besides - PROGRAM_PAGES)
    // Beside few rows there are buffers that are not needed.
    assert.equal(roomForModels(arena, 4 << 20, { memory }), memory - besides)
    assert.equal(roomForModels(arena, 100 << 20, { memory: 100 << 20 }), 0)
  })

  it('may look at samples: numbers of many digits take less than their text', async () => {
    const [rows, entries] = [8000, 50]
    const line = (row: number): string =>
      `${row % 2 ? '+1' : '-1'} ${Array.from({ length: entries }, (_, k) => `${k + 1}:${Math.sin(row + k).toFixed(16)}`).join(' ')}\n`
    const lines = Array.from({ length: rows }, (_, row) => line(row)).join('')
    const long = folder.write('long-numbers.svm', lines)
    const bytes = (await bytesBySamples([long], lines.length, resolveOptions({})))!
    // What rows take at least, and what they take at most with the margin.
    const records = rows * 24 + rows * entries * 8
    assert.ok(bytes > records && bytes < 1.4 * records, `${bytes} bytes, and rows take ${records}`)
    assert.ok(bytes < 0.5 * lines.length, `${bytes} bytes of ${lines.length}`)
    // The size of what is unpacked is not the size of the file.
    assert.equal(await bytesBySamples([long], 3 * lines.length, resolveOptions({})), undefined)
  })

  it('adds files up, takes compressed ones for larger, and f64 values too', async () => {
    const big = folder.write('big.svm', `${noisyRows(20_000, 30, 1)}\n`)
    const needed = async (paths: string[], options: TrainOptions = {}): Promise<number> =>
      Number(/about (\S+) MiB/.exec((await choice(paths, options)).reason)![1])
    const [none, once, twice, f64] = [
      await needed([text]),
      await needed([big]),
      await needed([big, big]),
      await needed([big], { values: 'f64' }),
    ]
    assert.ok(once > none && twice > once && f64 > once)
    const packed = folder.write('big.svm.zst', Buffer.alloc(1 << 20, '\n'))
    const plain = folder.write('small.svm', Buffer.alloc(1 << 20, '\n'))
    assert.ok((await needed([packed])) > (await needed([plain])))
  })

  it('is told by the run, before it reads', async () => {
    const long = folder.write('long.svm', padded(readFileSync(text, 'utf8'), 16e6))
    const { records, result } = await told(long, { memory: '156M', store: join(folder.path, 'told.spill'), blocks: 4 })
    assert.equal(result.exitReason, 'converged')
    const [first, ...others] = records
    assert.ok(first.stage === 'plan' && first.solver === result.solver && /more than 156 MiB/.test(first.reason))
    const [reading, plan] = others.filter(record => record.stage === 'plan')
    assert.ok(reading?.stage === 'plan' && /^reading the text into .*told\.spill/.test(reading.reason))
    assert.ok(plan?.stage === 'plan' && /^4 blocks, read in 1 piece a pass$/.test(plan.reason))
    assert.ok(linesOf(plan).some(line => /^Node and the program +84\.0 MiB$/.test(line)))
    assert.ok(linesOf(plan).some(line => /^allowed +156 MiB$/.test(line)))
  })

  it('has a store to go on from when it is told to resume, though all would fit', async () => {
    for (const wish of ['resume', 'cold'] as const) {
      const { name, reason } = await choice([text], { [wish]: true })
      assert.equal(name, 'stream')
      assert.match(reason, new RegExp(`which fits, but ${wish} asks for a store$`))
    }
  })

  it('is the one that was asked for', async () => {
    for (const solver of ['dual', 'block', 'pegasos', 'one-pass']) {
      const { name, reason } = await choice([text], { solver })
      assert.deepEqual({ name, reason }, { name: solver, reason: 'as asked for' })
    }
    const { result } = await told(store, { solver: 'block' })
    assert.equal(result.solver, 'block')
  })
})

describe('refused before any work', () => {
  const refused = async (data: string, options: TrainOptions, words: RegExp, advice?: RegExp): Promise<void> => {
    const here = join(folder.path, 'never.spill')
    await assert.rejects(
      async () => train(data, { store: here, ...options }).result,
      (error: SpillwayError) => {
        assert.ok(error instanceof UsageError, `${error}`)
        assert.match(error.message, words)
        if (advice) assert.match(error.advice ?? '', advice)
        return true
      },
    )
    assert.ok(!existsSync(here))
  }

  it('solver dual with too little memory', async () => {
    for (const data of [text, store]) {
      await refused(
        data,
        { solver: 'dual', memory: '110M' },
        /^solver dual keeps all rows in memory: about \d+ MiB, and --memory allows 110 MiB$/,
        /leave the choice to --solver auto, or take --solver .*block/,
      )
    }
  })

  it('options that the solver would ignore', async () => {
    const cases: [TrainOptions, string, string][] = [
      [{ innerPasses: 2 }, 'innerPasses', 'dual'],
      [{ innerTolerance: 0.1 }, 'innerTolerance', 'dual'],
      [{ blockOrder: 'fixed' }, 'blockOrder', 'dual'],
      [{ batch: 'block' }, 'batch', 'dual'],
      [{ solver: 'dual' }, 'store', 'dual, which keeps all rows in memory'],
      [{ solver: 'dual', store: undefined, resume: true }, 'resume', 'dual, which keeps all rows in memory'],
      [{ solver: 'dual', store: undefined, blocks: 3 }, 'blocks', 'dual, which keeps all rows in memory'],
      [{ solver: 'block', batch: 'row' }, 'batch', 'block'],
      [{ solver: 'pegasos', innerPasses: 3 }, 'innerPasses', 'pegasos'],
      [{ solver: 'pegasos', shrinking: false }, 'shrinking', 'pegasos'],
      [{ memory: '110M', batch: 'block' }, 'batch', '[a-z]+'],
    ]
    for (const [options, option, solver] of cases) {
      await refused(
        text,
        options,
        new RegExp(`^the option ${option} is not compatible with solver ${solver}: it would be ignored$`),
      )
    }
  })

  it('losses that the solver does not solve', async () => {
    await refused(
      text,
      { solver: 'pegasos', loss: 'logistic' },
      /^the logistic loss is not compatible with solver pegasos: missing /,
    )
  })

  it('values that cannot be', async () => {
    const cases: [TrainOptions, RegExp][] = [
      [{ memory: 'plenty' }, /memory/],
      [{ memory: 0 }, /memory is 0; expected a number of bytes, or a size such as 512M/],
      [{ blocks: 0 }, /blocks is 0; expected a whole number from 1 to 100000/],
      [{ innerPasses: 1.5 }, /innerPasses is 1.5; expected a whole number of at least 1/],
      [{ innerTolerance: 0 }, /innerTolerance is 0; expected a number above 0/],
      [{ blockOrder: 'sorted' as 'fixed' }, /blockOrder is "sorted"; expected one of random, fixed/],
      [{ checkpointSeconds: -1 }, /checkpointSeconds is -1; expected a number of at least 0/],
      [{ resume: true, cold: true }, /a run either resumes or starts cold, not both/],
      [{ solver: 'blocks' }, /solver/],
    ]
    for (const [options, words] of cases) await refused(text, options, words)
  })
})
