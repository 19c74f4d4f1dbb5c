// The threads that read text: as many as asked for, or as suit it.

import { isSmallText } from '../input-formats/text-size.ts'
import type { Arena } from '../numeric/arena.ts'
import { defaultThreads, type InPlace, ThreadPool } from '../threads/pool.ts'

/** `meanwhile`: the caller's thread parses as well until others are there, in memory of its own. */
export async function poolForText(
  arena: Arena,
  paths: string[],
  threads: number | undefined,
  meanwhile = false,
): Promise<ThreadPool> {
  const small = threads === undefined && (await isSmallText(paths))
  const inPlace: InPlace = small ? 'small' : meanwhile ? 'until-ready' : 'never'
  return new ThreadPool(arena.share, threads ?? defaultThreads(), { inPlace })
}
