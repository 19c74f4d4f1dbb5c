// A task for tests of the pool: it computes as long as it is told, and says in which thread it ran and what it was handed.
import { isMainThread } from 'node:worker_threads'
import { declareTask } from '../../src/threads/task.ts'

export const toldTask = declareTask(
  import.meta.url,
  'told',
  ({ kept }, options: { milliseconds?: number; list: number[]; fail?: boolean }) => {
    const before = process.threadCpuUsage()
    while (options.milliseconds && process.threadCpuUsage(before).user < options.milliseconds * 1000);
    if (options.fail) throw new RangeError('told to fail')
    options.list.push(0)
    const seen = (kept.get('seen') as number[] | undefined) ?? []
    kept.set('seen', seen)
    seen.push(options.list.length)
    return { isMainThread, seen }
  },
)

/** Where the thread's compiled code is kept, if it is. */
export const compileCacheTask = declareTask(import.meta.url, 'compile-cache', () =>
  process.getBuiltinModule('node:module').getCompileCacheDir(),
)
