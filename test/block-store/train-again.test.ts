// Training again after rows were added to a store or removed: it starts from where the last run ended, and ends where a run
// from zero does.
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { someRows } from '../cli/some-data.ts'
import { unlessSlow } from '../slow.ts'
import { newPath, newStore, textFile, trained } from './changing-stores.ts'

/** Where passes are counted: harder, to the tolerance that users have. */
const HARDER: TrainOptions = { tolerance: 1e-3, cost: 0.5 }

const near = (a: number | null, b: number | null): void => {
  assert.ok(a !== null && b !== null && Math.abs(a - b) <= 2e-6 * Math.abs(b), `${a} and ${b}`)
}

describe('training again', () => {
  const rows = someRows(2400, 50, { seed: 3 })
  const [base, more] = [rows.slice(0, 2350), rows.slice(2350)]

  /** Trains, changes the store, and trains again, from the dual variables and from zero. */
  const again = async (
    folder: string,
    options: TrainOptions,
    change: (store: string) => Promise<{ states: number }>,
  ) => {
    assert.equal((await trained(folder, options)).warm, false)
    assert.equal((await change(folder)).states, 1)
    const copy = newPath('.spill')
    cpSync(folder, copy, { recursive: true })
    const [warm, cold] = [await trained(folder, options), await trained(copy, { ...options, cold: true })]
    assert.deepEqual([warm.warm, cold.warm], [true, false])
    return { warm, cold }
  }

  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    test(`after an addition, ${loss}: the same optimum in fewer passes`, async () => {
      const added = textFile(more)
      const change = (store: string) => addRows(added, store, { threads: 1 })
      const folder = await newStore(base)
      const exact = await again(folder, { loss }, change)
      near(exact.warm.primal, exact.cold.primal)
      near(exact.warm.primal, (await trained(await newStore(rows), { loss })).primal)
      // Nothing has changed since: as ever, from zero.
      const unchanged = await trained(folder, { loss })
      assert.deepEqual([unchanged.warm, unchanged.passes], [false, exact.cold.passes])
      const { warm, cold } = await again(await newStore(base), { ...HARDER, loss }, change)
      assert.ok(warm.passes < cold.passes, `${warm.passes} passes warm, ${cold.passes} cold`)
    })

    const skip = loss !== 'hinge' && unlessSlow
    test(`after a removal, ${loss}: the optimum of the rows that stayed in fewer passes`, { skip }, async () => {
      const paths = [textFile(base), textFile(more)]
      const change = (store: string) => removeRows(store, { source: paths[1] })
      const exact = await again(await newStore(paths), { loss }, change)
      near(exact.warm.primal, (await trained(paths[0], { loss, solver: 'dual' })).primal)
      const { warm, cold } = await again(await newStore(paths), { ...HARDER, loss }, change)
      assert.ok(warm.passes < cold.passes, `${warm.passes} passes warm, ${cold.passes} cold`)
    })
  }

  for (const loss of ['hinge', 'logistic']) {
    test(`with three classes, which are trained together, ${loss}: all start from where they were`, async () => {
      const three = someRows(900, 30, { classes: 3, seed: 4 })
      const added = textFile(three.slice(800))
      const change = (store: string) => addRows(added, store, { threads: 1 })
      const exact = await again(await newStore(three.slice(0, 800)), { loss }, change)
      near(exact.warm.primal, exact.cold.primal)
      const { warm, cold } = await again(await newStore(three.slice(0, 800)), { ...HARDER, loss }, change)
      assert.ok(warm.passes <= cold.passes, `${warm.passes} passes warm, ${cold.passes} cold`)
    })
  }

  test('with several classes, one of which goes and another comes', async () => {
    const several = someRows(900, 30, { classes: 3, seed: 4 })
    const folder = await newStore(several)
    await trained(folder)
    await removeRows(folder, { label: 2 })
    const left = several.filter(({ label }) => label !== 2)
    const two = await trained(folder)
    // Several classes are trained together, and their dual variables are no start for other ones.
    assert.deepEqual([two.warm, two.classes], [false, 2])
    near(two.primal, (await trained(textFile(left), { solver: 'dual' })).primal)
    const fresh = someRows(100, 30, { classes: 3, seed: 9 }).map(row => ({ ...row, label: row.label + 2 }))
    await addRows(textFile(fresh), folder, { threads: 1 })
    const four = await trained(folder)
    assert.equal(four.classes, 4)
    near(four.primal, (await trained(textFile([...left, ...fresh]), { solver: 'dual' })).primal)
    near(four.primal, (await trained(folder, { solver: 'dual' })).primal)
  })

  test('on one class that is left is refused', async () => {
    const folder = await newStore(base.slice(0, 100))
    await removeRows(folder, { label: 1 })
    for (const solver of ['block', 'dual']) await assert.rejects(trained(folder, { solver }), /have the label -1/)
  })

  test('changes of the store add up, and a damaged state is no obstacle', async () => {
    const folder = await newStore(base)
    await trained(folder)
    await addRows(textFile(more), folder, { threads: 1 })
    await removeRows(folder, { rows: [3, 4, 5, 2360] })
    const gone = new Set([2, 3, 4, 2359])
    const left = textFile(rows.filter((_, k) => !gone.has(k)))
    const copy = newPath('.spill')
    cpSync(folder, copy, { recursive: true })
    const warm = await trained(folder)
    assert.equal(warm.warm, true)
    const truth = await trained(left, { solver: 'dual' })
    near(warm.primal, truth.primal)
    const state = join(copy, readdirSync(copy).find(name => name.startsWith('state-'))!)
    const alpha = readdirSync(state).find(name => name.startsWith('alpha-'))!
    writeFileSync(join(state, alpha), 'no dual variables')
    const cold = await trained(copy)
    assert.equal(cold.warm, false)
    near(cold.primal, truth.primal)
  })

  test('a state of another layout is left behind, before and after the store changes', async () => {
    const folder = await newStore(base.slice(0, 400))
    await trained(folder)
    const older = (): void => {
      const state = join(folder, readdirSync(folder).find(name => name.startsWith('state-'))!)
      const file = join(state, 'checkpoint.bin')
      const bytes = readFileSync(file)
      bytes.writeUInt32LE(0, 12)
      writeFileSync(file, bytes)
    }
    older()
    assert.equal((await addRows(textFile(more), folder, { threads: 1 })).states, 0)
    assert.equal((await trained(folder)).warm, false)
    assert.equal((await removeRows(folder, { rows: [3, 4, 5] })).states, 1)
    older()
    assert.equal((await trained(folder)).warm, false)
  })
})
