// The trees of one block whose rows are in memory, into a file of their own, which appears when it is whole.
import { AtomicFile } from '../files/atomic-file.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { type BuildRooms, TreeBuilder } from './build-tree.ts'
import { endBytes, headBytes, TREE_FILE_VERSION, type TreeFacts, type TreeSettings } from './tree-file.ts'

export interface BuildTreesOptions {
  path: string
  /** Of the block: its place among the blocks, its rows, and the bytes of their records. */
  number: number
  rows: number
  recordBytes: number
  features: number
  rooms: BuildRooms
  settings: TreeSettings
  about: Pick<TreeFacts, 'block' | 'labels' | 'labelChecksum'>
}

export const buildTreesTask = declareTask(import.meta.url, 'build-trees', buildTrees)

async function buildTrees({ arena }: TaskContext, options: BuildTreesOptions): Promise<TreeFacts> {
  const { path, number, rows, features, rooms, settings, about } = options
  arena.numeric.iota(rooms.numbers, rows)
  arena.bytes(rooms.vector, features * 8).fill(0)
  const file = await AtomicFile.create(path)
  try {
    const output = new PagesOut(file)
    await output.append(headBytes())
    const builder = new TreeBuilder(arena, rooms, settings, features, page => output.append(page))
    const trees = await builder.build(number, rows, options.recordBytes)
    const { seed, fanOut, leafBytes, treeRows } = settings
    const facts: TreeFacts = {
      ...{ format: 'spillway metric trees', version: TREE_FILE_VERSION, ...about },
      ...{ seed, fanOut, leafBytes, treeRows, ...builder.counts, bytes: output.end, trees },
    }
    await output.append(endBytes(facts))
    await output.flush()
    await file.commit()
    return facts
  } catch (error) {
    await file.discard()
    throw error
  }
}

/** Pages are small: they are written many at a time. */
const TOGETHER_BYTES = 1 << 20

class PagesOut {
  readonly #file: AtomicFile
  readonly #buffer = new Uint8Array(TOGETHER_BYTES)
  #held = 0
  end = 0

  constructor(file: AtomicFile) {
    this.#file = file
  }

  /** Where the bytes begin in the file. */
  async append(bytes: Uint8Array): Promise<number> {
    const at = this.end
    this.end += bytes.length
    if (this.#held + bytes.length > TOGETHER_BYTES) await this.flush()
    if (bytes.length > TOGETHER_BYTES) await this.#file.write(bytes.slice())
    else {
      this.#buffer.set(bytes, this.#held)
      this.#held += bytes.length
    }
    return at
  }

  async flush(): Promise<void> {
    await this.#file.write(this.#buffer.subarray(0, this.#held))
    this.#held = 0
  }
}
