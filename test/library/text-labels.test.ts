// Labels of text from one end to the other: text, store, model, its files, predictions. What is learned is held against the
// same data with numbers for labels, in the order that the texts have.
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import {
  addRows,
  ingest,
  loadModel,
  type Model,
  openStore,
  predict,
  predictRows,
  removeRows,
  SpillwayError,
  saveModel,
  type TrainOptions,
  train,
} from '../../src/index.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { writeLiblinear } from '../../src/model/liblinear-file.ts'
import { denseWeights } from '../../src/model/model.ts'
import { newFolder, run } from '../cli/run.ts'
import { isNumber, sameCode, textLabel } from '../input-formats/labels.ts'
import { randomNumbers, seed } from '../numeric/reference.ts'
import { isSlow } from '../slow.ts'

let folder = ''
let files = 0
before(() => {
  folder = newFolder()
})
after(() => rmSync(folder, { recursive: true, force: true }))
const newPath = (end: string): string => join(folder, `${files++}${end}`)
const write = (lines: string[]): string => {
  const path = newPath('.svm')
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}
const trained = async (data: string | string[], options: TrainOptions = {}): Promise<Model> =>
  (await train(data, { threads: 2, ...options }).result).model
async function predicted(data: string | string[], model: Model | string): Promise<string[]> {
  const labels: string[] = []
  for await (const piece of predictRows(data, model, { threads: 2 })) labels.push(...piece.labels)
  return labels
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
/** Numbers rising, then texts by bytes. */
function sorted(labels: string[]): string[] {
  return [
    ...labels.filter(isNumber).sort((a, b) => Number(a) - Number(b)),
    ...labels.filter(label => !isNumber(label)).sort(byBytes),
  ]
}

describe('labels of text', () => {
  it('survive text → store → model → predict, in chunks by several threads', async () => {
    const someLabels = fc
      .tuple(
        fc.uniqueArray(textLabel, { minLength: 2, maxLength: 6 }),
        fc.uniqueArray(fc.constantFrom('-3', '0', '+1', '2.5'), { maxLength: 2 }),
        fc.array(fc.nat(1000), { minLength: 5, maxLength: 60 }),
        fc.constantFrom('block', 'dual'),
      )
      .map(([texts, numbers, order, solver]) => ({ labels: [...texts, ...numbers], order, solver }))
    await fc.assert(
      fc.asyncProperty(someLabels, async ({ labels, order, solver }) => {
        // Every class has a feature of its own, so that predictions are sure to be right.
        const row = (k: number): string => `${labels[k]} ${k + 1}:1 ${labels.length + 1}:0.1`
        const classes = [...order.map(k => k % labels.length), ...labels.keys()]
        const written = classes.map(k => labels[k])
        // A file is a chunk at least: its labels are numbered by whichever thread is free.
        const cut = Math.floor(classes.length / 3)
        const parts = [classes.slice(0, cut), classes.slice(cut, 2 * cut), classes.slice(2 * cut)]
        const paths = parts.filter(part => part.length > 0).map(part => write(part.map(row)))
        const store = newPath('.spill')
        await ingest(paths.slice(0, 2), store, { threads: 2, blocks: 3 })
        if (paths.length > 2) await addRows(paths.slice(2), store, { threads: 2 })
        const model = await trained(store, { solver })
        assert.deepEqual(
          model.labels.map(({ text }) => text),
          labels.length === 2 ? sorted(labels).reverse() : sorted(labels),
        )
        const saved = newPath('.model')
        await saveModel(saved, model)
        const again = await loadModel(saved)
        assert.deepEqual(again.labels, model.labels)
        assert.deepEqual(await predicted(paths, saved), written)
        const { accuracy, rows } = await predict(paths, again, { threads: 2 })
        assert.deepEqual([accuracy, rows], [1, written.length])
        // From the text itself, without a store, the same is learned.
        const other = await trained(paths, { solver: 'dual' })
        assert.deepEqual(other.labels, model.labels)
        assert.deepEqual(await predicted(paths, other), written)
      }),
      { seed, numRuns: isSlow ? 8 : 3 },
    )
  })

  for (const names of [
    ['ham', 'spam'],
    ['dog', 'cat', 'Zebra', 'ünïcode', '\u{1f600}', '\uffee'],
  ]) {
    it(`${names.length} classes: the weights are those of numbers in the same order`, async () => {
      const random = randomNumbers(seed)
      const order = [...names].sort(byBytes)
      const rows = Array.from({ length: 300 }, () => {
        const label = names[Math.floor(random() * names.length)]
        const entries = Array.from({ length: 12 }, (_, j) =>
          random() < 0.5 ? ` ${j + 1}:${(random() * 2 - 1).toFixed(3)}` : '',
        )
        return { label, entries: entries.join('') }
      })
      const text = write(rows.map(({ label, entries }) => label + entries))
      const numbered = write(rows.map(({ label, entries }) => order.indexOf(label) + entries))
      const store = newPath('.spill')
      const numberedStore = newPath('.spill')
      await ingest(text, store, { threads: 1, blocks: 3 })
      await ingest(numbered, numberedStore, { threads: 1, blocks: 3 })
      for (const multiclass of ['one-vs-rest', 'crammer-singer'] as const) {
        for (const solver of ['dual', 'block']) {
          const options = { solver, multiclass, threads: 1, bias: 1 }
          const [found, expected] = [
            await trained(solver === 'dual' ? text : store, { ...options, classWeights: { [names[0]]: 3 } }),
            await trained(solver === 'dual' ? numbered : numberedStore, {
              ...options,
              classWeights: { [order.indexOf(names[0])]: 3 },
            }),
          ]
          assert.deepEqual(denseWeights(found), denseWeights(expected))
          assert.deepEqual(found.biasWeights, expected.biasWeights)
          assert.deepEqual(
            found.labels,
            expected.labels.map(({ value }) => ({ value: null, text: order[value!] })),
          )
          const [ours, theirs] = [await predict(text, found), await predict(numbered, expected)]
          assert.equal(ours.correct, theirs.correct)
          assert.deepEqual(
            await predicted(text, found),
            (await predicted(numbered, expected)).map(label => order[Number(label)]),
          )
        }
      }
    })
  }

  it('all classes at once: rows that are trained on are told apart, whichever label comes first', async () => {
    for (const lines of [
      ['b 1:1', 'a 2:1'],
      ['a 1:1', 'b 2:1'],
      ['7 1:1', 'b 2:1', 'a 3:1'],
    ]) {
      const path = write(lines)
      const words = ['train', path, newPath('.model'), '--multiclass', 'crammer-singer', '--test', path, '--json']
      const { status, stdout, stderr } = await run(words, { cwd: folder })
      assert.equal(status, 0, stderr)
      assert.equal(JSON.parse(stdout).test.accuracy, 1)
    }
  })

  it('mix with numbers, which come first and are one class however spelled', async () => {
    const path = write(['cat 1:1', '+1 2:1', '1.0 2:2', '-2 3:1', 'Cat 4:1', 'cat 1:2', '1e0 2:1'])
    const model = await trained(path)
    assert.deepEqual(model.labels, [
      { value: -2, text: '-2' },
      { value: 1, text: '+1' },
      { value: null, text: 'Cat' },
      { value: null, text: 'cat' },
    ])
    assert.deepEqual(await predicted(path, model), ['cat', '+1', '+1', '-2', 'Cat', 'cat', '+1'])
    const numberAndText = await trained(write(['cat 1:1', '7 2:1']))
    assert.equal(numberAndText.labels[0].text, 'cat', 'of a number and a text, the text is positive')
  })

  it('a class of one row is a class', async () => {
    const path = write([...Array.from({ length: 50 }, (_, k) => `${k % 2 ? 'a' : 'b'} ${1 + (k % 2)}:1`), 'rare 3:1'])
    const store = newPath('.spill')
    const { manifest } = await ingest(path, store, { blocks: 2 })
    assert.deepEqual(
      manifest.labels.map(({ text, rows }) => [text, rows]),
      [
        ['b', 25],
        ['a', 25],
        ['rare', 1],
      ],
    )
    for (const data of [path, store]) assert.ok((await predicted(path, await trained(data))).at(-1) === 'rare')
  })

  it('a class that only the test data has counts as wrong, never as an error', async () => {
    const texts = await trained(write(['cat 1:1', 'dog 2:1']))
    const numbers = await trained(write(['+1 1:1', '-1 2:1']))
    const test = write(['cat 1:1', 'bird 1:1', '5 2:1', 'dog 2:1', '+1 1:1'])
    for (const threads of [1, 2]) {
      assert.equal((await predict(test, texts, { threads })).correct, 2)
      assert.equal((await predict(test, numbers, { threads })).correct, 1)
    }
    // Two texts of one code are two labels here, too.
    const [one, other] = sameCode()
    const model = await trained(write([`${one} 1:1`, 'dog 2:1']))
    assert.equal((await predict(write([`${one} 1:1`, `${other} 1:1`, `${one} 1:1`]), model)).correct, 2)
  })

  it('one class only is refused, in memory and from a store', async () => {
    const path = write(['cat 1:1', 'cat 2:1'])
    const store = newPath('.spill')
    await ingest(path, store)
    for (const data of [path, store]) {
      for (const solver of ['dual', 'block']) {
        const made = data === path && solver === 'block' ? { store: newPath('.spill') } : {}
        await assert.rejects(
          trained(data, { solver, ...made }),
          (error: Error) =>
            error instanceof SpillwayError &&
            /all 2 rows of .* have the label cat: there is nothing/.test(error.message),
        )
      }
    }
  })

  it('300 classes, over several chunks', async () => {
    const names = Array.from({ length: 300 }, (_, k) => `class-${k.toString(36)}é`)
    const rows = Array.from({ length: 3000 }, (_, k) => (k * 7919) % 300)
    const path = write(rows.map(k => `${names[k]} ${k + 1}:1 ${'0'.repeat(350)}400:0.01`))
    const store = newPath('.spill')
    // So little memory makes chunks of 256 KiB.
    const { manifest } = await ingest(path, store, { threads: 2, blocks: 4, memory: 256 << 20 })
    assert.ok(readFileSync(path).length > 4 * (1 << 18))
    assert.equal(manifest.labels.length, 300)
    assert.ok(manifest.labels.every(label => label.rows === 10))
    const model = await trained(store, { solver: 'dual', tolerance: 0.1 })
    assert.deepEqual(
      model.labels.map(({ text }) => text),
      [...names].sort(byBytes),
    )
    assert.deepEqual(
      await predicted(path, model),
      rows.map(k => names[k]),
    )
  })

  it('are removed from a store by name, and others keep theirs', async () => {
    const path = write(['cat 1:1', 'dog 2:1', '0x10 3:1', 'cat 1:2', '16 4:1', 'dog 2:2'])
    const store = newPath('.spill')
    await ingest(path, store, { blocks: 1 })
    assert.equal((await removeRows(store, { label: 'cat' })).rows, 2)
    // 0x10 is a text, whatever the language would make of it.
    assert.equal((await removeRows(store, { label: '16' })).rows, 1)
    await assert.rejects(removeRows(store, { label: 'bird' }), /has no rows of the label bird/)
    const { manifest } = await openStore(store)
    assert.deepEqual(
      manifest.labels.map(({ text, rows }) => [text, rows]),
      [
        ['cat', 0],
        ['dog', 2],
        ['0x10', 1],
        ['16', 0],
      ],
    )
    const { newLabels } = await addRows(write(['cat 1:1', 'cow 5:1']), store)
    assert.deepEqual(newLabels, ['cow'])
    for (const solver of ['dual', 'block']) {
      const model = await trained(store, { solver })
      assert.deepEqual(
        model.labels.map(({ text }) => text),
        ['0x10', 'cat', 'cow', 'dog'],
      )
      assert.deepEqual(await predicted(write(['? 1:1', '? 2:1', '? 3:1', '? 5:1']), model), [
        'cat',
        'dog',
        '0x10',
        'cow',
      ])
    }
  })

  it('that share a code are refused by a store, which has codes alone, and trained on in memory', async () => {
    const [one, other] = sameCode()
    const path = write([`${one} 1:1`, `${other} 2:1`])
    await assert.rejects(
      ingest(path, newPath('.spill')),
      (error: Error) =>
        error instanceof SpillwayError && /have the same code .*: a store cannot tell/.test(error.message),
    )
    const store = newPath('.spill')
    await ingest(write([`${one} 1:1`, 'x 2:1']), store)
    await assert.rejects(addRows(write([`${other} 1:1`]), store), /have the same code/)
    assert.equal((await openStore(store)).manifest.rows, 2)
    assert.deepEqual(await predicted(path, await trained(path, { solver: 'dual' })), [one, other])
  })

  it('a table whose cells are all 0 is trained on: it says which cell is the label', async () => {
    const path = write(['kind,a,b', 'p,0,0', 'n,0,0', 'p,0,0'])
    const { result } = train(path, { format: 'csv', label: 'kind', bias: 1, threads: 1 })
    assert.deepEqual([(await result).exitReason, (await result).nonzeros], ['converged', 0])
  })

  it('lines of another format are not trained on as labels without entries', async () => {
    const path = write(['5.1,3.5,setosa', '4.9,3.0,virginica'])
    const asLabels = /no row of .* has an entry; its lines are read as labels, such as "5\.1,3\.5,setosa"/
    for (const solver of ['dual', 'block']) {
      for (const [format, words] of [
        ['auto', /which column is the label\? the table has 3 columns and no header/],
        ['libsvm', asLabels],
      ] as const) {
        await assert.rejects(
          trained(path, { solver, format, ...(solver === 'block' && { store: newPath('.spill') }) }),
          (error: Error) => error instanceof SpillwayError && words.test(error.message),
        )
      }
    }
  })

  it('of a model are written as JSON, and refused by LIBLINEAR’s format', async () => {
    const model = await trained(write(['ünï 1:1', '"quoted" 2:1']))
    const json = JSON.parse(Buffer.concat([...writeJson(model)]).toString())
    assert.deepEqual(json.labels, [
      { value: null, text: 'ünï' },
      { value: null, text: '"quoted"' },
    ])
    assert.equal(json.weights[0].label, 'ünï')
    assert.throws(
      () => [...writeLiblinear(model)],
      (error: Error) =>
        error instanceof SpillwayError &&
        /cannot hold the label "ünï": its labels are whole numbers/.test(error.message),
    )
  })

  it('on the command line', async () => {
    const data = write(['cat 1:1', '__proto__ 2:1', 'sci.space 3:1', 'a=b 4:1'])
    const model = newPath('.model')
    const weights = ['--class-weight', 'cat=2', '--class-weight', '__proto__=3', '--class-weight', 'a=b=4']
    const train = await run(['train', data, model, '-q', ...weights], { cwd: folder })
    assert.equal(train.status, 0, train.stderr)
    assert.deepEqual((await loadModel(model)).classWeights, [
      { label: 'cat', weight: 2 },
      { label: '__proto__', weight: 3 },
      { label: 'a=b', weight: 4 },
    ])
    const answer = await run(['predict', data, model, '--scores'], { cwd: folder })
    assert.deepEqual(
      answer.stdout
        .trim()
        .split('\n')
        .map(line => line.split(' ')[0]),
      ['cat', '__proto__', 'sci.space', 'a=b'],
    )
    assert.match(answer.stderr, /accuracy 100\.00 % \(4 of 4 rows\)/)
    const inspected = await run(['inspect', model], { cwd: folder })
    assert.match(inspected.stdout, /labels +__proto__, a=b, cat, sci\.space/)
    const looked = await run(['inspect', data], { cwd: folder })
    assert.match(looked.stdout, /labels +4\n +cat +1 rows\n/)
    const wrong = await run(['train', data, model, '--class-weight', 'bird=2'], { cwd: folder })
    assert.equal(wrong.status, 2)
    assert.match(wrong.stderr, /names the label bird, which the data does not have; its labels are/)
    const converted = await run(['convert', model, newPath('.ll'), '--to', 'liblinear'], { cwd: folder })
    assert.equal(converted.status, 1)
    assert.match(converted.stderr, /LIBLINEAR's model file cannot hold the label "__proto__"/)
  })
})
