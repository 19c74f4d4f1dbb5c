// The program under a memory cap that counts everything, page cache included.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const limit = fileURLToPath(new URL('../../../shared/bin/limit', import.meta.url))

/** Why there is no cap to be had here. */
export function whyNot(): string | undefined {
  if (!existsSync(limit)) return 'skipped: ../shared/bin/limit is not there'
  if (process.getuid?.() !== 0) return 'skipped: only root can set a memory cap'
  if (!existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes')) return 'skipped: there is no cgroup v1 for memory'
  return undefined
}

/** Why the disk of a folder cannot be slowed down here. */
export function whyNoSlowDisk(folder: string): string | undefined {
  const why = whyNot()
  if (why) return why
  const { status } = spawnSync(limit, ['--memory', '64M', '--read-bps', '16M', '--', 'true'], { cwd: folder })
  return status === 0 ? undefined : 'skipped: the disk of the folder cannot be slowed down'
}

/** The program as it is published. From sources Node strips types as it goes, and that takes tens of megabytes more. */
export function published(folder: string): string {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const place = join(folder, 'package')
  if (existsSync(join(place, 'bin/spillway.js'))) return join(place, 'bin/spillway.js')
  const words = [join(root, 'scripts/build-dist.js'), join(place, 'dist')]
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}${stderr}`)
  for (const name of ['bin', 'package.json']) cpSync(join(root, name), join(place, name), { recursive: true })
  return join(place, 'bin/spillway.js')
}
