// The index of a store in words, for `inspect`.
import type { Store } from '../block-store/reader.ts'
import { indexState, isAbsent, summaryOf } from '../sample-index/index-state.ts'
import { formatBytes, formatCount } from './format.ts'

/** Nothing where there is no index. */
export async function describeIndex(store: Store): Promise<{ lines: string[]; json: object }> {
  const state = await indexState(store, { damagedIsMissing: true })
  if (isAbsent(state)) return { lines: [], json: {} }
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
