// `predict --probability` and `--evaluate` as a user sees them.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type EvaluationReport, loadModel, predictRows, saveModel } from '../../src/index.ts'
import type { Calibration } from '../../src/model/calibration.ts'
import { noLiblinear } from '../train/liblinear.ts'
import { assertPlainWords, good, inFolder, run } from './run.ts'
import { asText, someRows } from './some-data.ts'

const two = asText(someRows(400, 20))
const three = asText(someRows(400, 20, { classes: 3 }))

/** Lines of words. */
const wordsOf = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => line.split(' '))
const trueLabels = (text: string): string[] => wordsOf(text).map(([label]) => label)
const sigmoid = (score: number): number => 1 / (1 + Math.exp(-score))

describe('predict --header', { concurrency: 3 }, () => {
  it('names the columns of probabilities and scores', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'two.svm'), asText(someRows(50, 10)))
      writeFileSync(join(cwd, 'three.svm'), asText(someRows(90, 10, { classes: 3 })))
      for (const [data, option, header, columns] of [
        ['two.svm', '--probability', 'labels 1 -1', 3],
        ['two.svm', '--scores', 'labels 1', 2],
        ['three.svm', '--probability', 'labels 1 2 3', 4],
        ['three.svm', '--scores', 'labels 1 2 3', 4],
      ] as const) {
        await good(['train', data, 'm', '--loss', 'logistic', '-q'], { cwd })
        const plain = (await good(['predict', data, 'm', option, '-q'], { cwd })).stdout
        const { stdout } = await good(['predict', data, 'm', option, '--header', '-q'], { cwd })
        assert.equal(stdout, `${header}\n${plain}`)
        assert.ok(plain.split('\n').every(line => line === '' || line.split(' ').length === columns))
        await good(['predict', data, 'm', 'out.txt', option, '--header', '-q'], { cwd })
        assert.equal(readFileSync(join(cwd, 'out.txt'), 'utf8'), stdout)
      }
    }))

  it('is there without rows, and not without columns or with bad rows', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'two.svm'), asText(someRows(50, 10)))
      writeFileSync(join(cwd, 'none.svm'), '')
      writeFileSync(join(cwd, 'bad.svm'), '1 1:x\n')
      await good(['train', 'two.svm', 'm', '-q'], { cwd })
      const none = await good(['predict', 'none.svm', 'm', '--scores', '--header', '-q'], { cwd })
      assert.equal(none.stdout, 'labels 1\n')
      const bad = await run(['predict', 'bad.svm', 'm', '--scores', '--header', '-q'], { cwd })
      assert.deepEqual([bad.status, bad.stdout], [1, ''])
      const { status, stdout, stderr } = await run(['predict', 'two.svm', 'm', '--header'], { cwd })
      assert.deepEqual([status, stdout], [2, ''])
      assert.match(stderr, /neither was asked for\n {2}add --scores or --probability/)
    }))
})

describe('predict --probability', { concurrency: 3 }, () => {
  for (const [name, data] of Object.entries({ 'two classes': two, 'three classes': three })) {
    it(`of a logistic model of ${name} follows from the scores`, () =>
      inFolder(async cwd => {
        writeFileSync(join(cwd, 'a.svm'), data)
        await good(['train', 'a.svm', 'm', '--loss', 'logistic', '-q'], { cwd })
        const scored = wordsOf((await good(['predict', 'a.svm', 'm', '--scores', '-q'], { cwd })).stdout)
        const { stdout, stderr } = await good(['predict', 'a.svm', 'm', '--probability', '-q'], { cwd })
        assert.equal(stderr, '')
        const probable = wordsOf(stdout)
        assert.equal(probable.length, 400)
        probable.forEach(([label, ...words], r) => {
          const [sameLabel, ...scores] = scored[r]
          assert.equal(label, sameLabel)
          const own = scores.map(score => sigmoid(Number(score)))
          const sum = own.reduce((total, p) => total + p, 0)
          const expected = own.length === 1 ? [own[0], 1 - own[0]] : own.map(p => p / sum)
          assert.deepEqual(words.map(Number), expected)
        })
      }))
  }

  it("are LIBLINEAR's", { skip: noLiblinear }, () =>
    inFolder(async cwd => {
      for (const data of [two, three]) {
        writeFileSync(join(cwd, 'a.svm'), data)
        execFileSync('liblinear-train', ['-s', '0', '-q', 'a.svm', 'theirs'], { cwd })
        execFileSync('liblinear-predict', ['-b', '1', '-q', 'a.svm', 'theirs', 'out'], { cwd })
        const theirs = wordsOf(readFileSync(join(cwd, 'out'), 'utf8')).slice(1)
        const ours = wordsOf((await good(['predict', 'a.svm', 'theirs', '--probability', '-q'], { cwd })).stdout)
        assert.equal(ours.length, theirs.length)
        ours.forEach((words, r) => {
          words.forEach((word, k) => {
            // Six digits are all that it prints, and rows are kept in f32 here.
            assert.ok(Math.abs(Number(word) - Number(theirs[r][k])) < 2e-6, `${words}, ${theirs[r]}`)
          })
        })
      }
    }),
  )

  it('of a calibrated model uses its calibrations, in a program too', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), three)
      await good(['train', 'a.svm', 'plain', '-q'], { cwd })
      const scored = wordsOf((await good(['predict', 'a.svm', 'plain', '--scores', '-q'], { cwd })).stdout)
      const calibrations: Calibration[] = [
        { kind: 'sigmoid', slope: 2, offset: -0.5 },
        { kind: 'isotonic', scores: [-1, 1], probabilities: [0.2, 0.8] },
        { kind: 'sigmoid', slope: 1, offset: 0 },
      ]
      await saveModel(join(cwd, 'm'), { ...(await loadModel(join(cwd, 'plain'))), calibrations })
      const { stdout } = await good(['predict', 'a.svm', 'm', '--probability', '-q'], { cwd })
      const probable = wordsOf(stdout)
      const ramp = (score: number): number => (score <= -1 ? 0.2 : score >= 1 ? 0.8 : 0.5 + 0.3 * score)
      probable.forEach(([label, ...words], r) => {
        assert.equal(label, scored[r][0])
        const [s, t, u] = scored[r].slice(1).map(Number)
        const own = [sigmoid(2 * s - 0.5), ramp(t), sigmoid(u)]
        const sum = own[0] + own[1] + own[2]
        words.forEach((word, k) => {
          assert.ok(Math.abs(Number(word) - own[k] / sum) < 1e-12)
        })
      })
      const rows: number[] = []
      for await (const { probabilities } of predictRows(join(cwd, 'a.svm'), join(cwd, 'm'), { probability: true })) {
        rows.push(...probabilities!)
      }
      assert.deepEqual(
        rows,
        probable.flatMap(([, ...words]) => words.map(Number)),
      )
    }))

  it('is refused where scores are no probabilities, and beside --scores', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), two)
      await good(['train', 'a.svm', 'm', '-q'], { cwd })
      const hinge = await run(['predict', 'a.svm', 'm', 'out.txt', '--probability'], { cwd })
      assert.equal(hinge.status, 1)
      assert.match(hinge.stderr, /scores are not probabilities: its loss is hinge, and it was not calibrated/)
      assert.match(hinge.stderr, /train --calibrate/)
      assertPlainWords(hinge.stderr)
      const both = await run(['predict', 'a.svm', 'm', 'out.txt', '--probability', '--scores'], { cwd })
      assert.equal(both.status, 2)
      assert.match(both.stderr, /cannot both be written/)
      assertPlainWords(both.stderr)
      assert.equal(existsSync(join(cwd, 'out.txt')), false)
    }))
})

async function evaluationOf(cwd: string, words: string[]): Promise<EvaluationReport> {
  const { stdout, stderr } = await good([...words, '--evaluate', '--json', '-q'], { cwd })
  assert.equal(stderr, '')
  return (JSON.parse(stdout) as { evaluation: EvaluationReport }).evaluation
}

describe('predict --evaluate', { concurrency: 3 }, () => {
  it('of two classes agrees with what is counted over its own output', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), two)
      await good(['train', 'a.svm', 'm', '--loss', 'logistic', '-q'], { cwd })
      const report = await evaluationOf(cwd, ['predict', 'a.svm', 'm', 'out.txt'])
      const { labels } = await loadModel(join(cwd, 'm'))
      const names = labels.map(label => label.text)
      const truth = trueLabels(two)
      const predicted = readFileSync(join(cwd, 'out.txt'), 'utf8').trimEnd().split('\n')
      const count = (t: string, p: string): number =>
        truth.filter((label, r) => label === t && predicted[r] === p).length
      assert.deepEqual(report.confusion, { labels: names, counts: names.map(t => names.map(p => count(t, p))) })
      assert.equal(report.accuracy, truth.filter((label, r) => label === predicted[r]).length / 400)
      assert.deepEqual(
        report.classes.map(({ label, support }) => [label, support]),
        names.map(name => [name, truth.filter(label => label === name).length]),
      )
      // Scores above 0 are for the first label; the areas are about the larger one.
      const { stdout } = await good(['predict', 'a.svm', 'm', '--scores', '-q'], { cwd })
      const scores = wordsOf(stdout).map(([, score]) => Number(score) * (names[0] === '1' ? 1 : -1))
      assert.equal(report.positive, '1')
      const [ups, downs] = ['1', '-1'].map(name => scores.filter((_, r) => truth[r] === name))
      const right = ups.map(up => downs.filter(down => up > down).length + downs.filter(down => up === down).length / 2)
      assert.ok(Math.abs(report.rocArea! - right.reduce((sum, n) => sum + n, 0) / (ups.length * downs.length)) < 1e-12)
      const precisions = ups.map(up => ups.filter(s => s >= up).length / scores.filter(s => s >= up).length)
      assert.ok(Math.abs(report.prArea! - precisions.reduce((sum, p) => sum + p, 0) / ups.length) < 1e-12)
      const losses = scores.map((score, r) => -Math.log(sigmoid(truth[r] === '1' ? score : -score)))
      assert.ok(Math.abs(report.logLoss! - losses.reduce((sum, loss) => sum + loss, 0) / 400) < 1e-9)
    }))

  it('has exactly the documented fields, and none without being asked', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), two)
      await good(['train', 'a.svm', 'm', '-q'], { cwd })
      const report = await evaluationOf(cwd, ['predict', 'a.svm', 'm'])
      assert.deepEqual(Object.keys(report), [
        'rows',
        'accuracy',
        'confusion',
        'classes',
        'macro',
        'micro',
        'positive',
        'rocArea',
        'prArea',
        'logLoss',
      ])
      assert.equal(report.logLoss, null, 'hinge loss has no probabilities')
      assert.deepEqual(Object.keys(report.classes[0]), ['label', 'precision', 'recall', 'f1', 'support'])
      const { stdout } = await good(['predict', 'a.svm', 'm', '--json', '-q'], { cwd })
      assert.equal('evaluation' in JSON.parse(stdout), false)
    }))

  it('counts classes that the model does not know, by their names', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), three)
      writeFileSync(join(cwd, 'b.svm'), `${three}7.50 1:1\n9 2:1\n7.5 3:1\n`)
      await good(['train', 'a.svm', 'm', '--loss', 'logistic', '-q'], { cwd })
      const known = await evaluationOf(cwd, ['predict', 'a.svm', 'm'])
      const report = await evaluationOf(cwd, ['predict', 'b.svm', 'm'])
      assert.deepEqual(report.confusion!.labels.slice(3), ['7.50', '9'])
      assert.deepEqual(
        report.classes.slice(3).map(({ label, recall, support }) => [label, recall, support]),
        [
          ['7.50', 0, 2],
          ['9', 0, 1],
        ],
      )
      assert.deepEqual(
        report.confusion!.counts.slice(3).map(row => row.reduce((sum, n) => sum + n, 0)),
        [2, 1],
      )
      for (const row of report.confusion!.counts) assert.deepEqual(row.slice(3), [0, 0])
      assert.ok(Math.abs(report.accuracy - (known.accuracy * 400) / 403) < 1e-12)
      // The model gave them no chance.
      assert.ok(Math.abs(report.logLoss! - (known.logLoss! * 400 - 3 * Math.log(1e-15)) / 403) < 1e-9)
      assert.deepEqual([report.rocArea, report.prArea, report.positive], [null, null, null])
    }))

  it('is a report for people on standard error, beside the labels, also when quiet', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), '+1 1:1\n+1 1:2\n-1 2:1\n-1 2:2\n')
      writeFileSync(join(cwd, 'b.svm'), '+1 1:1\n+1 2:2\n-1 2:1\n-1 2:3\n5 1:3\n')
      await good(['train', 'a.svm', 'm', '-q'], { cwd })
      const report = [
        'area under the ROC curve 0.7500, area under the precision-recall curve 0.8333 (of label +1)',
        '',
        'rows by true label (down) and predicted label (across):',
        '      +1  -1  5',
        '  +1   1   1  0',
        '  -1   0   2  0',
        '  5    1   0  0',
        '',
        '  label  precision  recall      F1  rows',
        '  +1        0.5000  0.5000  0.5000     2',
        '  -1        0.6667  1.0000  0.8000     2',
        '  5         0.0000  0.0000  0.0000     1',
        '  macro     0.3889  0.5000  0.4333',
        '  micro     0.6000  0.6000  0.6000',
        '',
      ].join('\n')
      const quiet = await good(['predict', 'b.svm', 'm', '--evaluate', '-q'], { cwd })
      assert.equal(quiet.stdout, '+1\n-1\n-1\n-1\n+1\n')
      assert.equal(quiet.stderr, report)
      const { stderr } = await good(['predict', 'b.svm', 'm', 'out.txt', '--evaluate'], { cwd })
      const [accuracy, ...rest] = stderr.split('\n')
      assert.match(accuracy, /^accuracy 60\.00 % \(3 of 5 rows\)/)
      assert.equal(rest.join('\n'), report)
    }))

  it('of an empty file is no failure', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), two)
      writeFileSync(join(cwd, 'e.svm'), '')
      await good(['train', 'a.svm', 'm', '-q'], { cwd })
      const { stderr } = await good(['predict', 'e.svm', 'm', '--evaluate'], { cwd })
      assertPlainWords(stderr)
      assert.match(stderr, /macro +0\.0000/)
    }))

  it('comes with train --test too, which it needs', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), two)
      const words = ['train', 'a.svm', 'm', '--loss', 'logistic', '-q']
      const { stdout } = await good([...words, '--test', 'a.svm', '--evaluate', '--json'], { cwd })
      const { test } = JSON.parse(stdout) as { test: { accuracy: number; evaluation: EvaluationReport } }
      assert.deepEqual(test.evaluation, await evaluationOf(cwd, ['predict', 'a.svm', 'm']))
      assert.equal(test.evaluation.accuracy, test.accuracy)
      const plain = await good([...words, '--test', 'a.svm', '--evaluate'], { cwd })
      assert.match(plain.stdout, /^model: m\n\narea under the ROC curve .*\nlog loss 0\.\d+\n\nrows by true label/m)
      const alone = await run(['train', 'a.svm', 'n', '--evaluate'], { cwd })
      assert.equal(alone.status, 2)
      assert.match(alone.stderr, /--evaluate needs data to test on/)
      assert.match(alone.stderr, /add --test FILE/)
    }))
})
