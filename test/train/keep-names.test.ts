// `--keep-names`: names of features that were hashed as the data was read, in Vowpal Wabbit text and in tables.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import {
  addRows,
  explainRow,
  ingest,
  loadModel,
  type Model,
  predict,
  type TableOptions,
  type TrainOptions,
  train,
  tune,
} from '../../src/index.ts'
import { murmur3, VW_BITS } from '../../src/input-formats/vw.ts'
import { featureName } from '../../src/model/feature-names.ts'
import { decodeModel, encodeModel } from '../../src/model/own-file.ts'
import { good, inFolder } from '../cli/run.ts'
import { fastFolder } from '../out-of-core/fixture.ts'

const folder = fastFolder()
const modelOf = async (path: string, options: TrainOptions): Promise<Model> =>
  (await train(path, { threads: 1, keepNames: true, ...options }).result).model
/** What ingest is told of a table. */
const tableOptionsOf = ({ text, categorical, label }: TrainOptions): TableOptions => ({ text, categorical, label })
const hash = (text: string, seed = 0): number => murmur3(Buffer.from(text), 0, Buffer.byteLength(text), seed)

describe('names of hashed features', () => {
  const lines = Array.from(
    { length: 60 },
    (_, k) => `${k % 2 ? 1 : -1} |film ${k % 2 ? 'schön' : 'dull:2'} w${k % 7} |len:0.5 5:${k % 3} | 9:1 plain`,
  )
  const vw = folder.write('films.vw', `${lines.join('\n')}\n`)

  it('are those of Vowpal Wabbit text, with their namespaces', async () => {
    const model = await modelOf(vw, {})
    const feature = hash('schön', hash('film')) % 2 ** VW_BITS
    assert.equal(featureName(model, feature), 'film^schön')
    assert.equal(featureName(model, (hash('len') + 5) % 2 ** VW_BITS), 'len^5')
    assert.equal(featureName(model, hash('plain') % 2 ** VW_BITS), 'plain')
    assert.equal(featureName(model, 9), '9', 'a number is its own name')
    assert.deepEqual(decodeModel(encodeModel(model)), model)
    const { contributions } = explainRow(model, [feature], [1], 1)
    assert.equal(contributions[0].name, 'film^schön')
    const plain = await modelOf(vw, { keepNames: false })
    assert.deepEqual(plain.weights, model.weights)
    assert.equal(plain.hashedNames, undefined)
    assert.equal(featureName(plain, feature), String(feature))
  })

  const rows = Array.from({ length: 80 }, (_, k) => {
    const says = k % 2 ? '"Good, FINE film"' : 'a bad Thing'
    return `${k},${k % 5 === 0 ? '' : `town ${k % 4}`},${says},${k % 2 ? 'yes' : 'no'}`
  })
  const csv = folder.write('films.csv', `age,town,says,label\n${rows.join('\n')}\n`)

  it('are the words and values of a table, and what fell together has a bar between', async () => {
    const options: TrainOptions = { text: ['says'], categorical: ['town', 'hash:3'], label: 'label' }
    const model = await modelOf(csv, { ...options, threads: 2 })
    const { names } = model.hashedNames!
    const all = model.hashedNames!.features.map(feature => featureName(model, feature))
    for (const word of ['says has good', 'says has fine', 'says has bad', 'says has thing']) {
      assert.ok(
        all.some(name => name.includes(word.split(' ')[2])),
        `${word} in ${all}`,
      )
    }
    const towns = all.filter(name => name.startsWith('town')).flatMap(name => name.replace(/^town=/, '').split('|'))
    assert.ok(
      towns.some(name => /^town [0-3]$/.test(name)),
      towns.join(),
    )
    assert.ok(names.length > 0)
    const pieces: Uint8Array[] = []
    await predict(csv, model, { threads: 1, explain: 2, write: piece => void pieces.push(piece) })
    assert.match(Buffer.concat(pieces).toString(), /says has (good|fine|film|bad|thing|a)/)
  })

  it('joins names that share a feature', async () => {
    const few = Array.from({ length: 40 }, (_, k) => `${k % 9},${k % 2 ? 'yes' : 'no'}`)
    const path = folder.write('few.csv', `code,label\n${few.join('\n')}\n`)
    const model = await modelOf(path, { categorical: ['code', 'hash:1'], label: 'label' })
    const all = model.hashedNames!.features.map(feature => featureName(model, feature))
    assert.ok(
      all.some(name => /^code=\d(\|\d)+$/.test(name)),
      all.join(),
    )
    assert.equal(all.join('|').replaceAll('code=', '').split('|').length, 9)
  })

  it('are refused where nothing is hashed, and where there is no text to read again', async () => {
    const nothing = /nothing is hashed here/
    const svm = folder.write('rows.svm', '1 1:1\n-1 2:1\n')
    await assert.rejects(modelOf(svm, {}), nothing)
    await assert.rejects(modelOf(csv, { label: 'label' }), nothing)
    const store = `${folder.path}/nameless.spill`
    await ingest(vw, store, { threads: 1 })
    await assert.rejects(modelOf(store, {}), /nameless\.spill has no names of hashed features/)
    await assert.rejects(ingest(svm, `${folder.path}/none.spill`, { threads: 1, keepNames: true }), nothing)
    await assert.rejects(train([{ label: 1, features: { 1: 1 } }], { keepNames: true }).result, nothing)
    assert.ok(!existsSync(`${folder.path}/none.spill`))
  })

  const hashed: TrainOptions = { text: ['says'], categorical: ['town', 'hash:3'], label: 'label' }
  const [firstRows, lastRows] = [rows.slice(0, 40), rows.slice(40)]

  it('are kept in a store, and its models have them without being asked', async () => {
    for (const [text, options] of [
      [vw, {}],
      [csv, hashed],
    ] as [string, TrainOptions][]) {
      const store = `${folder.path}/named-${options.label ?? 'vw'}.spill`
      await ingest(text, store, { threads: 2, keepNames: true, ...tableOptionsOf(options) })
      const expected = (await modelOf(text, options)).hashedNames!
      assert.ok(expected.features.length > 5)
      for (const more of [{}, { solver: 'block', memory: '300M', keepNames: true }]) {
        const { model } = await train(store, { threads: 1, ...more }).result
        assert.deepEqual(model.hashedNames, expected)
      }
      const { final } = await tune(store, { threads: 1, costs: [1], folds: 2 })
      assert.deepEqual(final?.model.hashedNames, expected)
    }
  })

  it('are added with rows, and a change that fails leaves the store as it can be used', async () => {
    const header = 'age,town,says,label\n'
    const [a, b] = [firstRows, lastRows].map((part, k) => {
      // Words that only the second part has.
      const own = k === 0 ? part : part.map(row => row.replace('film', 'picture').replace('Thing', 'matter'))
      return folder.write(`part-${k}.csv`, `${header}${own.join('\n')}\n`)
    })
    const store = `${folder.path}/grown.spill`
    await ingest(a, store, { threads: 1, keepNames: true, ...tableOptionsOf(hashed) })
    const namesOf = async (): Promise<string> => {
      const { model } = await train(store, { threads: 1 }).result
      return model.hashedNames!.names.join(' ')
    }
    assert.doesNotMatch(await namesOf(), /picture|matter/)
    const broken = folder.write('broken.csv', `${header}1,2\n`)
    await assert.rejects(addRows(broken, store, { threads: 1 }), /broken\.csv/)
    await addRows(b, store, { threads: 1 })
    assert.match(await namesOf(), /film.*picture|picture.*film/)
    // Overwriting clears them.
    await ingest(a, store, { threads: 1, overwrite: true, ...tableOptionsOf(hashed) })
    await assert.rejects(modelOf(store, {}), /has no names/)
  })

  it('are found in what comes from a pipe', () =>
    inFolder(async cwd => {
      const text = readFileSync(vw)
      const expected = await modelOf(vw, {})
      await good(['train', '-', 'piped.model', '--keep-names', '-q'], { cwd, stdin: text })
      assert.deepEqual((await loadModel(`${cwd}/piped.model`)).hashedNames, expected.hashedNames)
      await good(['ingest', '-', 'piped.spill', '--keep-names', '-q'], { cwd, stdin: text })
      await good(['add', '-', 'piped.spill', '-q'], { cwd, stdin: '1 |film later\n-1 |film never\n' })
      const { stdout } = await good(['inspect', 'piped.spill', '--json'], { cwd })
      assert.equal(JSON.parse(stdout).namedFeatures, expected.hashedNames!.features.length + 2)
      await good(['train', 'piped.spill', 'stored.model', '-q'], { cwd })
      assert.match(
        (await loadModel(`${cwd}/stored.model`)).hashedNames!.names.join(),
        /film\^later.*film\^never|never.*later/,
      )
      assert.deepEqual(
        readdirSync(cwd).filter(name => /spool/.test(name)),
        [],
      )
    }))

  it('are refused in a damaged file, which is named', async () => {
    const store = `${folder.path}/damaged.spill`
    await ingest(vw, store, { threads: 1, keepNames: true })
    const path = `${store}/names.bin`
    const bytes = readFileSync(path)
    for (const [damage, pattern] of [
      [bytes.subarray(0, 10), /does not start like one/],
      [bytes.subarray(0, bytes.length - 1), /its checksum does not match/],
      [Buffer.concat([Buffer.from('SPNAMES2'), bytes.subarray(8)]), /does not start like one/],
    ] as [Buffer, RegExp][]) {
      writeFileSync(path, damage)
      await assert.rejects(train(store, { threads: 1 }).result, pattern)
      await assert.rejects(train(store, { threads: 1 }).result, /names\.bin is damaged/)
    }
  })
})
