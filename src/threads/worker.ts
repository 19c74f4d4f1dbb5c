// What runs in a worker thread: an instance of the numeric module over the shared memory, and the tasks by name.
import { parentPort, workerData } from 'node:worker_threads'
import { SpillwayError } from '../errors.ts'
import { Arena } from '../numeric/arena.ts'
import type { NumericShare } from '../numeric/numeric.ts'
import { allTasks, type TaskName } from './all-tasks.ts'
import type { Answer } from './pool.ts'
import type { Task } from './task.ts'

const arena = new Arena(workerData as NumericShare)
const context = { arena, kept: new Map<string, unknown>() }

parentPort!.on('message', async ({ name, options }: { name: TaskName; options: unknown }) => {
  const answer: Answer = {}
  try {
    const task = (await allTasks[name]()) as Task<unknown, unknown>
    answer.result = await task(context, options)
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
})
