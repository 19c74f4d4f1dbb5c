import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { SpillwayError } from '../../src/errors.ts'
import { writeAtomically } from '../../src/files/atomic-file.ts'
import { allModelFormats, detectModelFormat } from '../../src/model/all-model-formats.ts'
import { loadModel, loadModelFile, saveModel } from '../../src/model/files.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { encodeModel } from '../../src/model/own-file.ts'
import { smallModel } from './some-models.ts'

describe('models on disk', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'spillway-model-'))
  })
  after(() => rmSync(folder, { recursive: true }))
  const at = (name: string): string => join(folder, name)
  const refused = (promise: Promise<unknown>, words: RegExp): Promise<void> =>
    assert.rejects(promise, (error: Error) => {
      assert.ok(error instanceof SpillwayError, String(error.stack))
      assert.match(error.message, words)
      return true
    })

  it('come back as they were saved', async () => {
    const model = smallModel()
    await saveModel(at('a.model'), model)
    const back = await loadModelFile(at('a.model'))
    assert.deepEqual(back.model, model)
    assert.equal(back.format.name, 'spillway')
  })

  it('come back when they are longer than one look at the file', async () => {
    const model = smallModel({ features: 50_000, weights: new Float64Array(50_000).map((_, j) => Math.sin(j)) })
    await saveModel(at('long.model'), model)
    assert.deepEqual(await loadModel(at('long.model')), model)
  })

  it('leave the old file and nothing else behind when writing fails', async () => {
    mkdirSync(at('fails'))
    writeFileSync(at('fails/b.model'), 'old')
    function* broken(): Generator<Uint8Array> {
      yield new Uint8Array(100_000)
      throw new SpillwayError('no more')
    }
    await refused(writeAtomically(at('fails/b.model'), broken()), /no more/)
    assert.deepEqual(readdirSync(at('fails')), ['b.model'])
    assert.equal(readFileSync(at('fails/b.model'), 'utf8'), 'old')
    await refused(writeAtomically(at('fails/new.model'), broken()), /no more/)
    assert.deepEqual(readdirSync(at('fails')), ['b.model'])
  })

  it('keep the rights of the file they replace, and replace what a link leads to', async () => {
    writeFileSync(at('kept.model'), 'old')
    chmodSync(at('kept.model'), 0o600)
    symlinkSync(at('kept.model'), at('link.model'))
    await saveModel(at('link.model'), smallModel())
    assert.equal(statSync(at('kept.model')).mode & 0o777, 0o600)
    assert.deepEqual(await loadModel(at('kept.model')), smallModel())
    assert.ok(
      readdirSync(folder, { withFileTypes: true })
        .find(entry => entry.name === 'link.model')
        ?.isSymbolicLink(),
    )
  })

  it('say in words what cannot be read or written', async () => {
    await refused(loadModel(at('absent')), /cannot read the model .*absent: there is no such file/)
    await refused(loadModel(folder), /it is a folder, a file was expected/)
    await refused(saveModel(folder, smallModel()), /cannot write .*: it is a folder/)
    await refused(saveModel(at('no/such/folder'), smallModel()), /cannot write .*: there is no such file or folder/)
  })

  it('are known by their first 64 bytes', async () => {
    for (const format of allModelFormats) {
      const bytes = Buffer.concat([...format.write(smallModel())])
      assert.equal(detectModelFormat(bytes.subarray(0, 64)), format)
    }
    assert.equal(detectModelFormat(Buffer.from('+1 1:0.5\n')), undefined)
  })

  it('say what a file is that is no model', async () => {
    const file = (name: string, bytes: string | Uint8Array): string => {
      writeFileSync(at(name), bytes)
      return at(name)
    }
    await refused(loadModel(file('empty', '')), /is not a model: it is empty; expected a model in one of the formats/)
    await refused(loadModel(file('data', '+1 3:0.5 7:1\n')), /begins with "\+1 3:0\.5 7:1", which looks like data/)
    await refused(loadModel(file('libsvm', 'svm_type c_svc\n')), /is a model of LIBSVM/)
    await refused(loadModel(file('gz', Uint8Array.of(0x1f, 0x8b, 8, 0))), /it is compressed/)
    await refused(loadModel(file('png', Uint8Array.of(0x89, 0x50))), /it begins with/)
    await refused(
      loadModel(file('json', Buffer.concat([...writeJson(smallModel())]))),
      /in the format json, which is for other programs/,
    )
    await refused(loadModel(file('cut', encodeModel(smallModel()).subarray(0, 100))), /cut is cut off: it is 100 bytes/)
  })
})
