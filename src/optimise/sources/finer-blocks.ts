// Smaller blocks than the memory asks for. Where a method keeps no rows, those of a block meet only rows that are loaded with it:
// several blocks that are loaded together, others in each pass, get on in a fraction of the passes that one alone takes.
import type { Manifest } from '../../block-store/manifest.ts'
import { SpillwayError } from '../../errors.ts'
import type { ByteCount } from '../../sizes.ts'
import { decodedBound, type MemoryPlan, MOST_PARTS, PAIR, type PlanNeeds, UNEVEN } from './memory-plan.ts'

/** Blocks that fit, though smaller ones are better. */
export class BlocksBetterSplit extends SpillwayError {
  override name = 'BlocksBetterSplit'
  /** How many blocks to make of each. */
  readonly parts: number[]

  constructor(parts: number[]) {
    super('blocks had better be smaller')
    this.parts = parts
  }
}

/** Whether blocks meet others, or all rows are in memory together. */
export function hasPairs({ slots, slotBytes, slotRows, costs }: MemoryPlan): boolean {
  if (slots === 1) return true
  return costs.every(({ bytes, rows }) => PAIR * bytes <= slotBytes && PAIR * rows <= slotRows)
}

/** Into how many blocks of about so many bytes, once they are decoded, each is split. */
export function partsOf(
  { blocks, valueBits }: Manifest,
  { entryBytes, expanded }: Pick<PlanNeeds, 'entryBytes' | 'expanded'>,
  bytes: ByteCount,
): number[] {
  return blocks.map((block, k) => {
    const nonzeros = expanded?.nonzeros[k] ?? block.nonzeros
    return limited(decodedBound({ ...block, nonzeros }, valueBits, entryBytes) / bytes, block.rows)
  })
}

/** Into how many each is split so that a slot of this plan holds two, where it is the plan of blocks in these parts. */
export function partsForPairs({ slotBytes, slotRows, costs }: MemoryPlan, parts: number[]): number[] {
  let first = 0
  return parts.map(count => {
    const own = costs.slice(first, first + count)
    first += count
    const bytes = own.reduce((sum, cost) => sum + cost.bytes, 0)
    const rows = own.reduce((sum, cost) => sum + cost.rows, 0)
    const share = Math.max(bytes / Math.max(slotBytes, 1), rows / Math.max(slotRows, 1))
    return limited(share <= 1 / PAIR ? 1 : UNEVEN * PAIR * share, rows)
  })
}

const limited = (parts: number, rows: number): number => Math.max(1, Math.min(rows, MOST_PARTS, Math.ceil(parts)))
