// spillway index: metric trees of a store's rows, for --solver indexed.
import { checkOutputs } from './check-files.ts'
import { bytesOption, type Command, type CommandInput, memoryOption, numberOption } from './command.ts'
import { formatBytes, formatCount, formatSeconds } from './format.ts'
import { print } from './print.ts'
import { ProgressLine } from './terminal.ts'
import { sayingWhatIsKept } from './what-is-kept.ts'

export const indexCommand: Command = {
  name: 'index',
  takes: 'STORE',
  count: [1, 1],
  options: {
    'fan-out': { value: 'K', help: 'children of a node of a tree, at most', fallback: '16', group: 'The index' },
    'tree-rows': { value: 'N', help: 'rows of a tree, at most', fallback: '16384', group: 'The index' },
    'leaf-bytes': {
      value: 'SIZE',
      help: 'size of a leaf, about; it has 8 rows or more',
      fallback: '6K',
      group: 'The index',
    },
    seed: { value: 'N', help: 'seed of what is drawn at random', fallback: '1', group: 'The index' },
    memory: {
      value: 'SIZE',
      help: 'the most memory that the whole process may take, Node included',
      group: 'The index',
    },
    threads: { value: 'N', help: 'blocks that are worked on at a time', fallback: 'all cores', group: 'The index' },
    json: { help: 'print one line of JSON at the end', group: 'Output' },
    quiet: { short: 'q', help: 'show no progress', group: 'Output' },
  },
  examples: [
    { line: 'spillway index reviews.spill', does: 'then: spillway train reviews.spill --solver indexed' },
    { line: 'spillway index clicks.spill --memory 512M', does: 'after spillway add: trees of the new rows alone' },
  ],
  notes:
    'The index lies in the folder "index" of the store, and takes about as much room as its rows in memory. It serves every ' +
    'class and every cost. Trees that are there stay: a work that was interrupted goes on.',
  run: runIndex,
}

async function runIndex({ arguments: [folder], options, signal }: CommandInput): Promise<number> {
  await checkOutputs({ reads: [folder] })
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const { buildIndex } = await import('../sample-index/build-index.ts')
  const work = buildIndex(folder, {
    fanOut: numberOption(options, 'fan-out', { least: 2, most: 1024, whole: true }),
    treeRows: numberOption(options, 'tree-rows', { least: 16, most: 2 ** 31 - 1, whole: true }),
    leafBytes: bytesOption(options, 'leaf-bytes'),
    seed: numberOption(options, 'seed', { least: 0, most: 2 ** 31 - 1, whole: true }),
    memory: memoryOption(options),
    threads: numberOption(options, 'threads', { least: 1, most: 256, whole: true }),
    signal,
    progress: ({ seconds, rows, rowsDone, blocks, blocksDone, bytesWritten }) => {
      const left = (seconds * (rows - rowsDone)) / Math.max(rowsDone, 1)
      line.show(
        `${formatCount(rowsDone)} of ${formatCount(rows)} rows, block ${blocksDone} of ${blocks}, ${formatBytes(bytesWritten)} written, ${formatSeconds(left)} left`,
      )
    },
  }).finally(() => line.clear())
  const result = await sayingWhatIsKept(
    work,
    () => 'trees of whole blocks are kept: the same command goes on from there',
  )
  if (options['json']) {
    await print(JSON.stringify({ command: 'index', ...result }))
    return 0
  }
  const { rows, trees, depth, leaves, fanOut, bytes, blocks, blocksBuilt, seconds } = result
  const built =
    blocksBuilt === 0
      ? 'it was there already'
      : `trees of ${formatCount(blocksBuilt)} of ${formatCount(blocks)} block${blocks === 1 ? '' : 's'} made`
  await print(
    [
      `${formatCount(rows)} rows in ${formatCount(trees)} ${trees === 1 ? 'tree' : 'trees'} of up to ${depth} levels, ${formatCount(leaves)} leaves, fan-out ${fanOut}`,
      `index: ${folder}/index, ${formatBytes(bytes)}; ${built} in ${formatSeconds(seconds)}`,
    ].join('\n'),
  )
  return 0
}
