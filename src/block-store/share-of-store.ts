// The share of a rank of a store: a store of its own, whose files are links to some of the blocks of the store. It has room for
// what training leaves in a store, and whatever changes its blocks does not touch those of the others.
import { mkdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileError, SpillwayError, UsageError } from '../errors.ts'
import { AtomicFile } from '../files/atomic-file.ts'
import { Arena } from '../numeric/arena.ts'
import { dealt, nameOfShare, type Share } from '../ranks/shares.ts'
import { MANIFEST_FILE } from './file-layout.ts'
import { featureFileOf, type Manifest } from './manifest.ts'
import { openStore, type Store } from './reader.ts'
import { fingerprintOf } from './writer.ts'

/** Says what a folder of links is a share of. */
const SHARE_FILE = 'share.json'

/** The folder of a rank's share, in this folder. It is made, unless it is there from an earlier run. */
export async function shareOfStore(folder: string, share: Share): Promise<string> {
  const store = await openStore(folder)
  const { blocks } = store.manifest
  if (blocks.length < share.size) {
    throw new UsageError(
      `${folder} has ${blocks.length} ${blocks.length === 1 ? 'block' : 'blocks'}, and there are ${share.size} ranks: each takes whole blocks`,
      `make it anew with more, e.g. spillway ingest DATA ${folder} --blocks ${4 * share.size}, or start fewer ranks`,
    )
  }
  const own = nameOfShare(basename(folder), share)
  const said = JSON.stringify({ of: await realpath(folder), fingerprint: store.manifest.fingerprint, ...share })
  try {
    if (!(await isThere(own, said))) await makeShare(store, own, said, share)
  } catch (error) {
    if (error instanceof SpillwayError) throw error
    throw fileError(error, own, 'write')
  }
  return own
}

/** Whether a folder holds the share already. One of something else is in the way; an old or unfinished share makes room. */
async function isThere(own: string, said: string): Promise<boolean> {
  if (!(await stat(own).catch(() => undefined))) return false
  const found = await readFile(join(own, SHARE_FILE), 'utf8').catch(() => undefined)
  if (found === undefined) {
    throw new SpillwayError(
      `${own} is in the way: the links to the blocks of this rank go there`,
      'move it, or remove it',
    )
  }
  if (found === said && (await stat(join(own, MANIFEST_FILE)).catch(() => undefined))) return true
  await rm(own, { recursive: true })
  return false
}

async function makeShare(store: Store, own: string, said: string, share: Share): Promise<void> {
  const manifest = manifestOfShare(store.manifest, share)
  const folder = await realpath(store.folder)
  await mkdir(own)
  await writeFile(join(own, SHARE_FILE), said)
  const files = manifest.blocks.map(({ file }) => file)
  if (manifest.usedFeatures > 0) files.push(featureFileOf(manifest))
  for (const file of files) await symlink(join(folder, file), join(own, file))
  // A folder with a manifest is complete.
  const output = await AtomicFile.create(join(own, MANIFEST_FILE))
  await output.write(Buffer.from(JSON.stringify(manifest, null, 2)))
  await output.commit()
}

/** Features and labels are those of the whole store, so that they have the same numbers everywhere. */
function manifestOfShare(whole: Manifest, share: Share): Manifest {
  const blocks = dealt(whole.blocks.length, share).map(k => whole.blocks[k])
  const total = (field: 'rows' | 'nonzeros'): number => blocks.reduce((sum, block) => sum + block[field], 0)
  const arena = new Arena()
  return {
    ...whole,
    rows: total('rows'),
    nonzeros: total('nonzeros'),
    positions: whole.positions ?? whole.rows,
    blocks,
    fingerprint: fingerprintOf(arena, arena.allocate(16, 'a checksum'), blocks),
  }
}
