import { join } from 'node:path'
import { rmSync, mkdtempSync } from 'node:fs'
import { ingest } from '../../src/block-store/ingest.ts'
import { train } from '../../src/training/train.ts'
import { findData } from '../training/liblinear.ts'
import { memoryForShare } from './stream-fixture.ts'
const dir = mkdtempSync('/dev/shm/probe-')
const data = findData('imdb') as {path: string}
const store = join(dir, 's.spill')
await ingest(data.path, store, { blocks: 40 })
for (const solver of ['stream', 'block', 'selective']) {
    const base = { loss: 'logistic', normalize: 'unit' as const }
    const memory = await memoryForShare(store, 0.2, base)
    const t = performance.now()
    const run = train(store, { ...base, solver, memory, tolerance: 1e-6, maxPasses: 60 })
    for await (const p of run) if (p.stage === 'train' && (p.certified || Number.isInteger(p.pass))) console.log(p.pass, p.primal, p.gap, p.certified)
    const r = await run.result
    console.log(solver, Math.round((performance.now() - t)), 'ms', r.exitReason, r.gap, r.primal, 'passes', r.passes, 'read', r.blocks!.read)
}
rmSync(dir, { recursive: true })
