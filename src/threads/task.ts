// What a task is. A task file declares its function under a name. Callers hand the declaration to the pool. Only the file's
// address and the name cross to a worker, which loads the file and finds the function. The pool knows no task.
import type { Arena } from '../numeric/arena.ts'

/** What a task finds in its thread: its instance of the numeric module, and a place for what it keeps between runs. */
export interface TaskContext {
  arena: Arena
  kept: Map<string, unknown>
}

/** What a thread keeps under a name; made where it is not there yet. */
export function keep<T>({ kept }: TaskContext, name: string, make: () => T): T {
  if (!kept.has(name)) kept.set(name, make())
  return kept.get(name) as T
}

/** What a worker says when it is there. */
export const READY = 'ready'

export type Task<Options, Result> = (context: TaskContext, options: Options) => Result | Promise<Result>

/** A task as its callers know it. */
export interface DeclaredTask<Options, Result> {
  /** Address of the file that declares it. */
  module: string
  name: string
  /** There for the types alone: it is never set. */
  types?: (options: Options) => Result
}

const declared = new Map<string, unknown>()

/** Makes a function a task; `module` is import.meta.url of its file. */
export function declareTask<Options, Result>(
  module: string,
  name: string,
  task: Task<Options, Result>,
): DeclaredTask<Options, Result> {
  if (declared.has(name)) throw new Error(`two tasks are named ${name}`)
  declared.set(name, task)
  return { module, name }
}

/** The function behind a declaration, its file loaded if it was not yet. dist/run-tasks.js has every task from the start. */
export async function findTask(module: string, name: string): Promise<Task<unknown, unknown>> {
  if (!declared.has(name)) await import(module)
  const task = declared.get(name)
  if (!task) throw new Error(`${module} declares no task ${name}`)
  return task as Task<unknown, unknown>
}
