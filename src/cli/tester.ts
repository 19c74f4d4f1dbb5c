// What tests the model of the moment while a recorded run goes on: its predictions for the data of --test.
import { stat } from 'node:fs/promises'
import { isQuery } from '../input-formats/stand-ins.ts'
import { textSize } from '../input-formats/text-size.ts'
import type { ProgressListener } from '../train/progress.ts'
import type { Tester } from '../train/tests-on-the-way.ts'
import { sourceName } from './format.ts'

/** What is predicted in a second at least, by one thread; and what a test takes besides. It is for the first test alone. */
const BYTES_PER_SECOND = 40e6
const SECONDS_BESIDES = 0.02

/** Undefined for data that can be read once, which is kept for the test at the end; the user is told. */
export async function testerOn(path: string, signal: AbortSignal, tell: ProgressListener): Promise<Tester | undefined> {
  const bytes = await bytesOf(path)
  if (bytes === undefined) {
    const reason = `the model is not tested on the way: ${sourceName(path)} is no file, and is read once, at the end`
    tell({ stage: 'plan', solver: '', reason })
    return undefined
  }
  // The test at the end needs it, too: no test on the way is to wait for it.
  const { predict } = await import('../predict/predict.ts')
  return {
    expectedSeconds: SECONDS_BESIDES + bytes / BYTES_PER_SECOND,
    test: (model, sparing) => predict(path, model, { signal, sparing }),
  }
}

/** Of a file, as text, or of a store; undefined for what is neither. */
async function bytesOf(path: string): Promise<number | undefined> {
  if (path === '-' || isQuery(path)) return undefined
  const found = await stat(path).catch(() => undefined)
  if (!found?.isDirectory()) return textSize(path)
  const { openStore } = await import('../block-store/reader.ts')
  return (await openStore(path)).manifest.blocks.reduce((sum, block) => sum + block.bytes, 0)
}
