// Changes a store and is killed at the n-th step that touches a file, for add-remove.test.ts.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const [name, store, data, step] = process.argv.slice(2)
let steps = 0
const counts = (): void => {
  if (++steps === Number(step)) process.kill(process.pid, 'SIGKILL')
}
const { open, rename, unlink } = fs.promises
fs.promises.open = async (path, flags, ...rest) => {
  if (flags === 'r') return open(path, flags, ...rest)
  counts()
  const handle = await open(path, flags, ...rest)
  const { sync } = handle
  return Object.assign(handle, {
    sync: async () => {
      counts()
      return sync.call(handle)
    },
  })
}
fs.promises.rename = async (from, to) => {
  counts()
  return rename(from, to)
}
fs.promises.unlink = async path => {
  counts()
  return unlink(path)
}
syncBuiltinESMExports()

if (name === 'add') await (await import('../../src/block-store/add.ts')).addRows(data, store, { threads: 1 })
else if (name === 'split') await (await import('../../src/block-store/split-blocks.ts')).splitBlocks(store, [1, 2])
else await (await import('../../src/block-store/remove.ts')).removeRows(store, { rows: [1, 2, 150, 300] })
