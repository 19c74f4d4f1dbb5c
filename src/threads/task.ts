import type { Arena } from '../numeric/arena.ts'

/** What a task finds in its thread: its instance of the numeric module, and a place for what it keeps between runs. */
export interface TaskContext {
  arena: Arena
  kept: Map<string, unknown>
}

export type Task<Options, Result> = (context: TaskContext, options: Options) => Result | Promise<Result>
