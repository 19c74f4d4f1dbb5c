// What runs in a worker thread: an instance of the numeric module over the shared memory, and the tasks by name.
import { parentPort, workerData } from 'node:worker_threads'
import { SpillwayError } from '../errors.ts'
import { Arena } from '../numeric/arena.ts'
import type { Answer, WorkerStart } from './pool.ts'
import { findTask, READY } from './task.ts'

const arena = new Arena((workerData as WorkerStart).share)
const context = { arena, kept: new Map<string, unknown>() }
let isFirst = true

parentPort!.on('message', async ({ module, name, options }: { module: string; name: string; options: unknown }) => {
  const answer: Answer = {}
  try {
    answer.result = await (await findTask(module, name))(context, options)
  } catch (error) {
    const known = error instanceof SpillwayError
    answer.error = {
      message: error instanceof Error ? error.message : String(error),
      advice: known ? error.advice : undefined,
      exitCode: known ? error.exitCode : undefined,
      stack: error instanceof Error ? error.stack : undefined,
    }
  }
  parentPort!.postMessage(answer)
  // A worker is ended from outside, and Node writes compiled code at the end of a thread that ends by itself.
  if (isFirst) process.getBuiltinModule('node:module').flushCompileCache()
  isFirst = false
})
parentPort!.postMessage(READY)
