// What there is of a store's index: which blocks have trees, and whether those belong to the rows that are there now.
import type { Store } from '../block-store/reader.ts'
import { SpillwayError } from '../errors.ts'
import { labelChecksum, readTreeFacts, type TreeFacts, treeFile } from './tree-file.ts'

export interface IndexState {
  /** For each block of the store its trees, or what is wrong. */
  blocks: { facts?: TreeFacts; missing?: 'absent' | 'stale' | 'damaged' }[]
}

/** `damagedIsMissing`: files that cannot be read are told as such, not thrown. */
export async function indexState(
  { folder, manifest }: Store,
  { damagedIsMissing = false }: { damagedIsMissing?: boolean } = {},
): Promise<IndexState> {
  const blocks: IndexState['blocks'] = []
  for (const { file, checksum } of manifest.blocks) {
    try {
      const facts = await readTreeFacts(treeFile(folder, file))
      if (!facts) blocks.push({ missing: 'absent' })
      else if (
        facts.block.checksum !== checksum ||
        facts.labels > manifest.labels.length ||
        facts.labelChecksum !== labelChecksum(manifest.labels, facts.labels)
      )
        blocks.push({ missing: 'stale' })
      else blocks.push({ facts })
    } catch (error) {
      if (!damagedIsMissing || !(error instanceof SpillwayError)) throw error
      blocks.push({ missing: 'damaged' })
    }
  }
  return { blocks }
}

export interface IndexSummary {
  rows: number
  blocks: number
  trees: number
  /** Pages from a root to the deepest leaf. */
  depth: number
  fanOut: number
  leaves: number
  innerNodes: number
  bytes: number
  /** Rows of blocks that have no trees of theirs. */
  rowsWithout: number
}

export function summaryOf({ blocks }: IndexState, rowsOf: (block: number) => number = () => 0): IndexSummary {
  const sum = { rows: 0, blocks: 0, trees: 0, depth: 0, fanOut: 0, leaves: 0, innerNodes: 0, bytes: 0, rowsWithout: 0 }
  for (const [block, { facts }] of blocks.entries()) {
    if (!facts) {
      sum.rowsWithout += rowsOf(block)
      continue
    }
    sum.blocks++
    sum.rows += facts.block.rows
    sum.trees += facts.trees.length
    sum.leaves += facts.leaves
    sum.innerNodes += facts.innerNodes
    sum.bytes += facts.bytes
    sum.fanOut = Math.max(sum.fanOut, facts.fanOut)
    sum.depth = Math.max(sum.depth, ...facts.trees.map(({ depth }) => depth))
  }
  return sum
}

/** Whether nothing of an index is there at all. */
export function isAbsent({ blocks }: IndexState): boolean {
  return blocks.every(({ missing }) => missing === 'absent')
}

/** The trees of every block; refuses an index that is not there, or not all of it. */
export async function wholeIndex(store: Store): Promise<TreeFacts[]> {
  const state = await indexState(store)
  const missing = state.blocks.filter(({ facts }) => !facts)
  if (missing.length > 0) {
    const advice = `build it with \`spillway index ${store.folder}\`${isAbsent(state) ? '' : ', which makes what is missing'}`
    throw new SpillwayError(
      isAbsent(state)
        ? `${store.folder} has no index`
        : `the index of ${store.folder} is stale: ${missing.length} of ${state.blocks.length} blocks have changed or come since it was built`,
      advice,
    )
  }
  return state.blocks.map(({ facts }) => facts!)
}
