// Indexes a store and is killed when so many blocks are done, for index-files.test.ts.
import { buildIndex } from '../../src/sample-index/build-index.ts'

const [store, blocks] = process.argv.slice(2)
await buildIndex(store, {
  ...{ threads: 1, leafBytes: 2048, fanOut: 4 },
  progress: ({ blocksDone }) => {
    if (blocksDone === Number(blocks)) process.kill(process.pid, 'SIGKILL')
  },
})
