// Files in a folder that goes away, and rows loaded from them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { Arena } from '../../src/numeric/arena.ts'
import { loadRows, type ReadReport, type ReadSettings } from '../../src/rows/load-rows.ts'
import type { RowSet } from '../../src/rows/row-set.ts'
import { ThreadPool } from '../../src/threads/pool.ts'

/** A folder for the tests of one file; `write` puts a file there and returns its path. */
export function testFolder(): { path: string; write(name: string, content: string | Uint8Array): string } {
  const path = mkdtempSync(join(tmpdir(), 'spillway-test-'))
  after(() => rmSync(path, { recursive: true, force: true }))
  return {
    path,
    write(name, content) {
      const file = join(path, name)
      writeFileSync(file, content)
      return file
    },
  }
}

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
