// The index of a store in words, for `inspect`.
import type { Store } from '../block-store/reader.ts'
import { Arena } from '../numeric/arena.ts'
import { type IndexState, indexState, isAbsent, summaryOf } from '../sample-index/index-state.ts'
import { MetricForest } from '../sample-index/metric-forest.ts'
import { formatBytes, formatCount } from './format.ts'

/** Nothing where there is no index. `verify` reads all of its pages. */
export async function describeIndex(store: Store, verify: boolean): Promise<{ lines: string[]; json: object }> {
  const state = await indexState(store, { damagedIsMissing: !verify })
  if (isAbsent(state)) return { lines: [], json: {} }
  if (verify) await verifyIndex(store, state)
  const { manifest } = store
  const summary = summaryOf(state, block => manifest.blocks[block].rows)
  const { trees, depth, fanOut, leaves, innerNodes, bytes, rowsWithout } = summary
  const damaged = state.blocks.filter(({ missing }) => missing === 'damaged').length
  return {
    lines: [
      `index       ${formatCount(trees)} ${trees === 1 ? 'tree' : 'trees'} of up to ${depth} levels, fan-out ${fanOut}, ${formatCount(leaves)} leaves, ${formatBytes(bytes)} on disk`,
      ...(rowsWithout > 0
        ? [
            `            ${formatCount(rowsWithout)} rows have no tree${damaged > 0 ? ` (${formatCount(damaged)} files of trees are damaged)` : ''}: \`spillway index ${store.folder}\` makes what is missing`,
          ]
        : []),
    ],
    json: { index: { trees, depth, fanOut, leaves, innerNodes, bytes, rowsWithout } },
  }
}

/** Meets every page: a query that all rows answer. */
async function verifyIndex(store: Store, state: IndexState): Promise<void> {
  if (state.blocks.some(({ facts }) => !facts)) return
  const arena = new Arena()
  const forest = await MetricForest.open(arena, store, VERIFY_ROOM)
  const weightCount = store.manifest.features + 1
  const weights = arena.allocateZeroed(weightCount * 8, 'weights')
  try {
    forest.search({ weights, weightCount, narrow: false, bias: 0, positive: 0, unit: false, high: 1 }, {}, () => {})
  } finally {
    forest.close()
  }
}

const VERIFY_ROOM = 16 << 20
