// The worker's share of generating: one chunk of rows, as text in shared memory. The main thread writes it from there.

import { SlotFields } from '../numeric/fields/slot.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'

export interface GenerateChunkOptions {
  /** Addresses of the plan, of the slot's scratch and of the room for text. */
  plan: number
  slot: number
  text: number
  rows: number
  chunk: number
  /** 0 for training rows, 1 for test rows: the same hidden model, other rows. */
  stream: number
}

export interface GeneratedChunk {
  bytes: number
  nonzeros: number
}

export const generateChunkTask = declareTask(import.meta.url, 'generate-chunk', generateChunk)

function generateChunk({ arena }: TaskContext, options: GenerateChunkOptions): GeneratedChunk {
  const { plan, slot, text, rows, chunk, stream } = options
  const bytes = arena.numeric.generateRows(plan, slot, text, rows, chunk, stream) >>> 0
  return { bytes, nonzeros: new SlotFields(arena, slot).nonzeros }
}
