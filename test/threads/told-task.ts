// A task for tests of the pool: it waits as long as it is told, and says in which thread it ran and what it was handed.
import { isMainThread } from 'node:worker_threads'
import { declareTask } from '../../src/threads/task.ts'

export const toldTask = declareTask(
  import.meta.url,
  'told',
  ({ kept }, options: { wait?: number; list: number[]; fail?: boolean }) => {
    if (options.wait) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, options.wait)
    if (options.fail) throw new RangeError('told to fail')
    options.list.push(0)
    const seen = (kept.get('seen') as number[] | undefined) ?? []
    kept.set('seen', seen)
    seen.push(options.list.length)
    return { isMainThread, seen }
  },
)
