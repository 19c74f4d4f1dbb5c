// A model that is there is replaced only by a run that reached its aim. Another one goes beside it, and everybody who meets a
// model that fell short is told so: what the data looks like, and what to type.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { saveTrained } from '../../src/cli/save-trained.ts'
import { loadModel } from '../../src/model/files.ts'
import { shortfallLines } from '../../src/model/shortfall.ts'
import { train } from '../../src/train/train.ts'
import { assertPlainWords, filesIn, good, inFolder, run, shows, start } from './run.ts'
import { asText, randomNumbers, someRows } from './some-data.ts'

/** Rows of many thousand, with labels that nothing explains. */
function wildText(rows: number): string {
  const random = randomNumbers(5)
  return Array.from({ length: rows }, () => {
    const values = Array.from({ length: 4 }, (_, j) => `${j + 1}:${((random() - 0.5) * 4000).toFixed(1)}`)
    return `${random() < 0.5 ? '+1' : '-1'} ${values.join(' ')}\n`
  }).join('')
}

describe('a good model', { concurrency: 2 }, () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`outlives ${signal}: the interrupted one goes beside it`, () =>
      inFolder(async cwd => {
        writeFileSync(join(cwd, 'a.svm'), asText(someRows(3000, 400)))
        await good(['train', 'a.svm', 'a.model', '-q'], { cwd })
        const before = readFileSync(join(cwd, 'a.model'))
        const json = signal === 'SIGINT' ? ['--json'] : []
        const endless = ['--solver', 'dual', '--tolerance', '1e-300', '--max-passes', '1000000000']
        const running = start(['train', 'a.svm', 'a.model', ...endless, ...json], { cwd })
        await shows(running.child, /^(class|pass) /m)
        running.child.kill(signal)
        const { status, stdout, stderr } = await running.outcome
        assert.equal(status, 130, stderr)
        assertPlainWords(stderr)
        assert.ok(readFileSync(join(cwd, 'a.model')).equals(before), 'the good model is untouched')
        assert.deepEqual(filesIn(cwd), ['a.model', 'a.model.unfinished', 'a.svm'])
        const beside = await loadModel(join(cwd, 'a.model.unfinished'))
        assert.equal(beside.certificate!.exitReason, 'interrupted')
        // It lacked no passes: somebody ended it.
        const help = shortfallLines(beside).filter(line => line.startsWith('what would help: '))
        assert.match(help.join(), /^what would help: train to the end/)
        assert.doesNotMatch(help.join(), /--max-passes/)
        if (signal === 'SIGINT') {
          const { model, kept, exitReason } = JSON.parse(stdout)
          assert.deepEqual([model, kept, exitReason], ['a.model.unfinished', 'a.model', 'interrupted'])
        } else {
          assert.match(
            stdout,
            /\nmodel: a\.model\.unfinished\na\.model stays as it was: this run did not reach its aim\n/,
          )
        }
      }))
  }

  it('outlives a run over blocks that was interrupted', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(500, 40)))
      await good(['train', 'a.svm', 'a.model', '-q'], { cwd })
      const before = readFileSync(join(cwd, 'a.model'))
      await good(['ingest', 'a.svm', 'a.spill', '--blocks', '4', '-q'], { cwd })
      const words = ['train', 'a.spill', 'a.model', '--solver', 'block', '--json']
      const running = start([...words, '--tolerance', '1e-300', '--max-passes', '1000000000'], { cwd })
      await shows(running.child, /^(class|pass) /m)
      running.child.kill('SIGINT')
      const { status, stdout, stderr } = await running.outcome
      assert.equal(status, 130, stderr)
      const { model, kept, shortfall } = JSON.parse(stdout)
      assert.deepEqual([model, kept], ['a.model.unfinished', 'a.model'])
      assert.ok(shortfall.advice.includes('--resume'))
      assert.ok(readFileSync(join(cwd, 'a.model')).equals(before), 'the good model is untouched')
    }))

  it('outlives a run whose passes ran out, unless they were asked for', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'good.svm'), '+1 1:1 2:1\n-1 2:1\n')
      writeFileSync(join(cwd, 'wild.svm'), wildText(60))
      await good(['train', 'good.svm', 'm', '-q'], { cwd })
      const before = readFileSync(join(cwd, 'm'))
      const words = ['train', 'wild.svm', 'm', '--solver', 'dual', '--cost', '1000', '-q']
      const short = await run([...words, '--json'], { cwd })
      assert.equal(short.status, 1, short.stderr)
      const { model, kept, exitReason } = JSON.parse(short.stdout)
      assert.deepEqual([model, kept, exitReason], ['m.unfinished', 'm', 'max-passes'])
      assert.ok(readFileSync(join(cwd, 'm')).equals(before))
      const { stdout } = await good([...words, '--json', '--max-passes', '50'], { cwd })
      assert.deepEqual([JSON.parse(stdout).model, JSON.parse(stdout).kept], ['m', undefined])
      assert.equal((await loadModel(join(cwd, 'm'))).certificate!.passes, 50)
    }))

  for (const solver of ['newton', 'lbfgs'] as const) {
    it(`outlives ${solver}, which has no dual variables, but a gap: it is told what would help`, () =>
      inFolder(async cwd => {
        writeFileSync(join(cwd, 'wild.svm'), wildText(60))
        const words = ['train', 'wild.svm', 'm', '--solver', solver, '--loss', 'logistic', '--max-passes', '2', '-q']
        const { stdout } = await good(words, { cwd })
        assert.match(stdout, /ended short after 2 passes: gap [\d.e+]+, where 0\.001 was asked for/)
        assert.match(
          stdout,
          /what would help: train with --max-passes 1000; if that is not enough, --solver dual or --scale minmax/,
        )
        const result = await train(join(cwd, 'wild.svm'), { solver, loss: 'logistic', maxPasses: 2 }).result
        assert.deepEqual(result.model.shortfall!.factors, [1])
        const saved = await saveTrained(join(cwd, 'm'), result, false, [])
        assert.deepEqual(saved, { model: join(cwd, 'm.unfinished'), kept: join(cwd, 'm') })
      }))
  }

  it('outlives tune whose last model fell short', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'wild.svm'), wildText(40))
      writeFileSync(join(cwd, 'good.svm'), '+1 1:1 2:1\n-1 2:1\n')
      await good(['train', 'good.svm', 'm', '-q'], { cwd })
      const before = readFileSync(join(cwd, 'm'))
      const words = ['tune', 'wild.svm', 'm', '--solver', 'dual', '--cost', '1000', '--folds', '2', '-q', '--json']
      const { status, stdout, stderr } = await run(words, { cwd })
      assert.equal(status, 1, stderr)
      const { model, kept, shortfall } = JSON.parse(stdout)
      assert.deepEqual([model, kept], ['m.unfinished', 'm'])
      assert.ok(shortfall.advice.length > 0)
      assert.ok(readFileSync(join(cwd, 'm')).equals(before))
    }))

  it('is replaced by any run when it is an empty file', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'wild.svm'), wildText(40))
      writeFileSync(join(cwd, 'm'), '')
      const result = await train(join(cwd, 'wild.svm'), { cost: 1000, maxPasses: 5, threads: 1 }).result
      const saved = await saveTrained(join(cwd, 'm'), result, false, [])
      assert.deepEqual(saved, { model: join(cwd, 'm') })
      const again = await saveTrained(join(cwd, 'm'), result, false, [])
      assert.deepEqual(again, { model: join(cwd, 'm.unfinished'), kept: join(cwd, 'm') })
      assert.deepEqual(await saveTrained(join(cwd, 'm'), result, true, []), { model: join(cwd, 'm') })
    }))
})

describe('a model that fell short', () => {
  it('says what the data looks like and what to type, wherever it is met', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'wild.svm'), wildText(60))
      const stuck = ['train', 'wild.svm', '--solver', 'dual', '--cost', '1000']
      const { stdout: summary } = await good([...stuck, '--model', 'm', '-q'], { cwd })
      const words = [
        /ended short after 1,000 passes: gap [\d.e-]+, where 0\.001 was asked for/,
        /the objective is \d+; weights of 0 have 60000/,
        /to the solver values run from -\d+ to \d+, rows are [\d.]+ to [\d.]+ long, there is no bias, C = 1000/,
        /what would help: train with --scale minmax --bias 1; if that is not enough, --solver newton or --max-passes 10000 or --cost 100/,
      ]
      for (const word of words) assert.match(summary, word)
      const { stdout: inspected } = await good(['inspect', 'm'], { cwd })
      for (const word of words) assert.match(inspected, word)
      const newton = ['train', 'wild.svm', '--solver', 'newton', '--cost', '1000', '--model', 'n', '--json', '-q']
      const { exitReason, gap } = JSON.parse((await good(newton, { cwd })).stdout)
      assert.equal(exitReason, 'converged', `what it says helps: gap ${gap}`)
      const { stderr: predicted } = await good(['predict', 'wild.svm', 'm', 'out.txt'], { cwd })
      for (const word of words) assert.match(predicted, word)
      for (const command of [
        ['inspect', 'm', '--json'],
        ['predict', 'wild.svm', 'm', 'out.txt', '--json', '-q'],
        [...stuck, '--model', 'other', '-q', '--json'],
      ]) {
        const { shortfall } = JSON.parse((await good(command, { cwd })).stdout)
        assert.equal(shortfall.tolerance, 1e-3)
        assert.equal(shortfall.atZero, 60000)
        assert.equal(shortfall.factors.length, 1)
        assert.ok(shortfall.values[0] < -1000 && shortfall.values[1] > 1000)
        assert.ok(shortfall.lengths[0] > 0 && shortfall.lengths[1] > 2000)
        assert.deepEqual(shortfall.advice, ['--scale minmax', '--bias 1'])
        assert.deepEqual(shortfall.otherwise, ['--solver newton', '--max-passes 10000', '--cost 100'])
        assert.equal(shortfall.found.length >= 3, true)
      }
    }))

  it('reaches its aim with what it says to type, where the data was the reason', () =>
    inFolder(async cwd => {
      const rows = someRows(120, 4, { density: 1 })
      for (const { entries } of rows) for (const entry of entries) entry[1] *= entry[0] * 5000
      writeFileSync(join(cwd, 'a.svm'), asText(rows))
      const { stdout } = await good(['train', 'a.svm', 'm', '--solver', 'dual', '-q', '--json'], { cwd })
      const { shortfall, exitReason } = JSON.parse(stdout)
      assert.equal(exitReason, 'max-passes')
      const typed = shortfall.advice.join(' ').split(' ')
      const again = JSON.parse(
        (await good(['train', 'a.svm', 'm', '--solver', 'dual', '-q', '--json', ...typed], { cwd })).stdout,
      )
      assert.equal(again.exitReason, 'converged')
      assert.equal(again.shortfall, undefined)
      assert.equal(again.model, 'm')
    }))
})
