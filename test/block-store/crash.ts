// Writes a part of a store and dies without a word, for store.test.ts.
import { SegmentEncoder } from '../../src/block-store/codecs.ts'
import { StoreWriter } from '../../src/block-store/writer.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { kindsOfRows, makeBatch, seeded } from './batches.ts'

const arena = new Arena()
const encoder = new SegmentEncoder(arena, { blocks: 2, seed: 1, mode: 'random' })
const writer = await StoreWriter.create(process.argv[2], { arena, blocks: 2, bufferBytes: 1 })
await writer.append(encoder.encode(makeBatch(arena, kindsOfRows['text'](100, seeded(1))), 0, 0), 0)
process.kill(process.pid, 'SIGKILL')
