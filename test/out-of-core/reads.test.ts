// How often blocks are read, counted: once a pass, once a certificate, and after a stop at most one group again.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { isSlow } from '../slow.ts'
import { abortAfter, copyStore, fastFolder, memoryFor, noisyStore, threeClasses, told } from './fixture.ts'

const folder = fastFolder()
const BLOCKS = 8
let store = ''
let bytes = 0
let count = 0
const fresh = (): string => copyStore(store, join(folder.path, `copy-${++count}.spill`))

before(async () => {
  store = await noisyStore(folder, 'rows', { blocks: BLOCKS })
  const { manifest } = await openStore(store)
  // The header of a file is read too, but is no part of a segment.
  bytes = manifest.blocks.reduce((sum, block) => sum + block.bytes, 0)
})

describe('reading', () => {
  for (const together of [1, 2, 3, 8]) {
    it(`every block once a pass and once a certificate, ${together} together`, async () => {
      const options: TrainOptions = { solver: 'block', cost: 0.02, memory: await memoryFor(store, together) }
      const { result, certificates, train } = await told(fresh(), options)
      assert.ok(result.passes >= 2)
      assert.ok(certificates >= 1)
      assert.equal(result.blocks?.read, BLOCKS * (result.passes + certificates))
      // One record for each group of blocks, and one for each certificate.
      const groups = (train.length - certificates) / result.passes
      assert.ok(groups >= Math.ceil(BLOCKS / together) && groups <= BLOCKS, `${groups} groups`)
      const reads = result.passes + certificates
      assert.ok(result.bytesRead <= bytes * reads && result.bytesRead > 0.8 * bytes * reads, `${result.bytesRead}`)
    })
  }

  it('once more for a scale', async () => {
    for (const scale of ['minmax', 'standard'] as const) {
      const options: TrainOptions = { solver: 'block', scale, cost: 0.02 }
      const memory = await memoryFor(store, 1, options)
      const { result, certificates } = await told(fresh(), { ...options, memory })
      assert.equal(result.blocks?.read, BLOCKS * (1 + result.passes + certificates))
    }
  })

  it('for each of three classes', async () => {
    const three = join(folder.path, 'three.spill')
    await ingest(folder.write('three.svm', `${threeClasses(900, 5)}\n`), three, { blocks: 5 })
    const memory = await memoryFor(three, 1)
    const { result, certificates } = await told(three, { solver: 'block', cost: 0.02, memory })
    const passes = result.model.classCertificates.reduce((sum, part) => sum + part.passes, 0)
    assert.equal(result.blocks?.read, 5 * (passes + certificates))
  })

  for (const solver of ['block', 'selective'])
    it(`${solver}: after a stop goes on with the next group: what is read twice is what had been read ahead`, async () => {
      const options: TrainOptions = {
        solver,
        cost: 0.02,
        memory: await memoryFor(store, 1, { solver }),
        checkpointSeconds: 0,
        blockOrder: 'fixed',
        tolerance: 0.03,
      }
      const whole = await told(fresh(), options)
      const all = whole.result.blocks!.read
      const groups = (whole.train.length - whole.certificates) / whole.result.passes
      if (solver === 'block') assert.equal(groups, BLOCKS)
      const inAGroup = Math.ceil(BLOCKS / groups)
      const others = isSlow ? [1, 2, BLOCKS - 1, BLOCKS + 1, 2 * BLOCKS - 2] : []
      for (const records of [5, BLOCKS, ...others]) {
        if (records >= whole.train.length) continue
        const path = fresh()
        const first = await abortAfter(path, options, records)
        assert.equal(first.result.exitReason, 'interrupted')
        const visited = first.train.length
        const rest = await told(path, { ...options, resume: true })
        assert.equal(rest.train.length, whole.train.length - visited, 'a group is worked on twice, or never')
        const twice = first.result.blocks!.read + rest.result.blocks!.read - all
        // At the end of a pass the certificate had begun: two groups of it may have been read. What the interrupted run looks
        // at for its last line search is the store at most.
        const most = (visited % groups === 0 ? 2 : 1) * inAGroup + BLOCKS
        assert.ok(twice >= 0 && twice <= most, `stopped after ${visited} groups: ${twice} blocks were read twice`)
      }
    })
})
