// `--keep-names`: names of features that were hashed as the data was read, in Vowpal Wabbit text and in tables.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { explainRow, ingest, type Model, predict, type TrainOptions, train } from '../../src/index.ts'
import { murmur3, VW_BITS } from '../../src/input-formats/vw.ts'
import { featureName } from '../../src/model/feature-names.ts'
import { decodeModel, encodeModel } from '../../src/model/own-file.ts'
import { fastFolder } from '../out-of-core/fixture.ts'

const folder = fastFolder()
const modelOf = async (path: string, options: TrainOptions): Promise<Model> =>
  (await train(path, { threads: 1, keepNames: true, ...options }).result).model
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
    const store = `${folder.path}/films.spill`
    await ingest(vw, store, { threads: 1 })
    await assert.rejects(modelOf(store, {}), /found by reading the text again, and this is a store/)
  })
})
