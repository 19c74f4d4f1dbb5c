import { join } from 'node:path'
import { rmSync, mkdtempSync } from 'node:fs'
import { ingest } from '../../src/block-store/ingest.ts'
import { train } from '../../src/training/train.ts'
import { findData } from '../training/liblinear.ts'
import { memoryForShare } from './stream-fixture.ts'
const dir = mkdtempSync('/dev/shm/probe-')
const [name, norm, maxPasses = '1000'] = process.argv.slice(2)
const data = findData(name) as {path: string}
const store = join(dir, 's.spill')
await ingest(data.path, store, { blocks: 40 })
for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
  for (const share of [0.05, 0.2, 1.25]) {
    const base = { loss, ...(norm === 'unit' ? { normalize: 'unit' as const } : {}), ...(norm === 'minmax' ? {scale: 'minmax' as const} : {})}
    const memory = await memoryForShare(store, share, base)
    const t = performance.now()
    const r = await train(store, { ...base, solver: 'stream', memory, tolerance: 1e-6, maxPasses: Number(maxPasses) }).result
    console.log(loss, share, Math.round((performance.now() - t)), 'ms', r.exitReason, r.gap, r.primal, 'passes', r.passes, 'read', r.blocks!.read, r.trainingAccuracy, r.supportVectors)
  }
}
rmSync(dir, { recursive: true })
