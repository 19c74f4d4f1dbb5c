// Files in a folder that goes away, and rows loaded from them.
import { Arena } from '../../src/numeric/arena.ts'
import { loadRows, type ReadReport, type ReadSettings } from '../../src/rows/load-rows.ts'
import type { RowSet } from '../../src/rows/row-set.ts'
import { ThreadPool } from '../../src/threads/pool.ts'

export { testFolder } from '../folders.ts'

export const settings: ReadSettings = { format: 'libsvm', indexBase: undefined, onBadRow: 'fail', valueBits: 32 }

/** Loads with a memory and threads of its own. `use` looks at the rows before they go. */
export async function load<T>(
  paths: string[],
  options: Partial<ReadSettings> & { threads?: number; unit?: boolean; plain?: boolean },
  use: (loaded: { arena: Arena; rows: RowSet; read: ReadReport }) => T,
): Promise<T> {
  const { threads = 1, unit = false, plain = false, ...read } = options
  const arena = new Arena()
  const pool = new ThreadPool(arena.share, threads)
  try {
    const result = await loadRows(arena, pool, paths, { ...settings, ...read }, { unit, plain }, () => {})
    return use({ arena, ...result })
  } finally {
    await pool.close()
  }
}
