// The threads that read text: as many as asked for, or as suit it.

import { isSmallText } from '../input-formats/text-size.ts'
import type { Arena } from '../numeric/arena.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'

export async function poolForText(arena: Arena, paths: string[], threads: number | undefined): Promise<ThreadPool> {
  const small = threads === undefined && (await isSmallText(paths))
  return new ThreadPool(arena.share, threads ?? defaultThreads(), { small })
}
