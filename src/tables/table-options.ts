// What a user says of a table: which column is the label, which are left out, and what becomes of texts.
import { UsageError } from '../errors.ts'
import { mostBits } from './schema.ts'

/** Columns are named, or numbered from 1 on. */
export interface TableOptions {
  label?: string | undefined
  weight?: string | undefined
  ignore?: readonly string[] | undefined
  /** Columns whose values are names, even if they are numbers, and `hash:BITS`, which has no lists of values made. */
  categorical?: readonly string[] | undefined
  /** Columns of text that is counted by its words. */
  text?: readonly string[] | undefined
  header?: 'yes' | 'no' | 'auto' | undefined
}

export const tableOptionNames = ['label', 'weight', 'ignore', 'categorical', 'text', 'header'] as const

/** Bits of hashes where nothing else is said. */
export const USUAL_BITS = 18

/** Lists of columns are separated by commas. */
export function listOf(text: string): string[] {
  return text.split(',').map(name => name.trim())
}

/** The bits that `hash:BITS` says, if it is there, and the columns beside it. */
export function categoriesOf({ categorical = [] }: TableOptions): { bits: number | undefined; names: string[] } {
  const isHash = (text: string): boolean => /^hash:/.test(text)
  const [said, second] = categorical.filter(isHash)
  if (second !== undefined) throw new UsageError(`categorical says both ${said} and ${second}`, 'name one')
  const names = categorical.filter(text => !isHash(text))
  if (said === undefined) return { bits: undefined, names }
  const bits = Number(said.slice('hash:'.length))
  if (!(Number.isInteger(bits) && bits >= 1 && bits <= mostBits)) {
    throw new UsageError(`categorical is ${said}; expected hash:BITS, with bits from 1 to ${mostBits}`)
  }
  return { bits, names }
}
