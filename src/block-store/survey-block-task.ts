// One block looked at as its rows will be once they are expanded: how many nonzeros, and which features.

import { Expander } from '../features/expander.ts'
import { newNameMap } from '../features/kept-names.ts'
import { newFeatureMap } from '../numeric/feature-map.ts'
import type { ExpansionOptions } from '../rows/parse-rows-task.ts'
import { type Address, type ByteCount, READ_BYTES } from '../sizes.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { ReadBuffer } from './block-file.ts'
import { SegmentDecoder } from './codecs.ts'
import { openStore, type Store } from './reader.ts'

export interface SurveyBlockOptions {
  folder: string
  block: number
  expansion: ExpansionOptions
  /** Pages that this thread's map of features may take. */
  mapPages: number
}

export interface SurveyedBlock {
  nonzeros: number
  /** Address of this thread's map of the features met so far; 0 when they were too many for it. */
  map: number
  /** The same of the features that were hashed, if their names are kept. */
  names: number
  /** What expanding takes in this thread. */
  expanderBytes: ByteCount
}

interface Kept {
  store: Store
  buffer: ReadBuffer
  decoder: SegmentDecoder
  batch: Address
  expander: Expander
  map: number
  names: number
}

export const surveyBlockTask = declareTask(import.meta.url, 'survey-block', surveyBlock)

async function surveyBlock(
  { arena, kept }: TaskContext,
  { folder, block, expansion, mapPages }: SurveyBlockOptions,
): Promise<SurveyedBlock> {
  let tools = kept.get('survey-block') as Kept | undefined
  if (!tools) {
    const decoder = new SegmentDecoder(arena)
    const names = expansion.keepNames ? newNameMap(arena) : 0
    tools = {
      store: await openStore(folder),
      buffer: new ReadBuffer(arena, READ_BYTES),
      decoder,
      batch: decoder.newBatch(),
      expander: new Expander(arena, expansion.expand, names),
      map: newFeatureMap(arena, mapPages),
      names,
    }
    kept.set('survey-block', tools)
  }
  const { store, buffer, decoder, batch, expander } = tools
  let nonzeros = 0
  for await (const { at, bytes, where } of store.blockSegments(block, buffer)) {
    decoder.decode(at, bytes, batch, where)
    for (const piece of expander.expand(batch)) {
      nonzeros += piece.nonzeros
      if (tools.map && !arena.numeric.enterBatch(tools.map, piece.batch)) tools.map = 0
    }
  }
  return {
    nonzeros,
    map: tools.map,
    names: expander.namesComplete ? tools.names : 0,
    expanderBytes: expander.bytes,
  }
}
