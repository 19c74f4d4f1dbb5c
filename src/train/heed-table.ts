// Data that is a table: what its columns become is learnt before anything else, or known by the store, and numbers are scaled
// unless something else is said.
import { stat } from 'node:fs/promises'
import { openStore } from '../block-store/reader.ts'
import { UsageError } from '../errors.ts'
import { countsRows } from '../features/scale-kinds.ts'
import { isGivenRows } from '../input-formats/given-rows.ts'
import { formatBytes } from '../numeric/arena.ts'
import { planDecoding } from '../rows/decode-memory.ts'
import { learnSchema } from '../rows/learn-schema.ts'
import { bytesOf, hasNumbers, type Schema } from '../tables/schema.ts'
import { tableOptionNames } from '../tables/table-options.ts'
import type { ResolvedOptions } from './options.ts'
import type { ProgressListener } from './progress.ts'

/** Fills in the schema of a table, its format and how it is scaled. `learn` learns a schema of text. */
export async function heedTable(
  paths: string[],
  options: ResolvedOptions,
  tell: ProgressListener,
  learn = learnSchema,
): Promise<void> {
  await setAsideForDecoding(paths, options, tell)
  const schema = await schemaOf(paths, options, learn)
  if (!schema) return
  options.schema = schema
  setAside(schema, options, tell)
  const { given, expand, space, scale } = options
  if (countsRows(scale) && hasNumbers(schema)) {
    const reason = `columns of numbers are divided by their standard deviations, other features are scaled by ${scale}`
    tell({ stage: 'plan', solver: '', reason })
  }
  // Ages and incomes side by side are no good before they are of one size. Features that are 0 or 1 stay as they are.
  if (given.has('scale') || expand !== undefined || space || !hasNumbers(schema)) return
  options.scale = 'numbers'
  const reason = 'columns of numbers are divided by their standard deviations (--scale none leaves them as they are)'
  tell({ stage: 'plan', solver: '', reason })
}

/** Lists of values that are small do not count. */
const SMALL = 1 << 20

/** Leaves room for the lists of values, where the memory is named. */
function setAside(schema: Schema, options: ResolvedOptions, tell: ProgressListener): void {
  const bytes = bytesOf(schema)
  if (options.memory === undefined || bytes < SMALL) return
  options.memory -= bytes
  const reason = `the values of the columns take about ${formatBytes(bytes)} of the memory (--categorical hash:18 makes no lists of them)`
  tell({ stage: 'plan', solver: '', reason })
}

/** Leaves room for decoding, where the memory is named: as many threads decode as there is room for. */
async function setAsideForDecoding(paths: string[], options: ResolvedOptions, tell: ProgressListener): Promise<void> {
  const { memory, format, threads } = options
  if (memory === undefined || paths.some(isGivenRows)) return
  const plan = await planDecoding(paths, { memory, format, threads })
  if (!plan) return
  options.memory = memory - plan.bytes
  options.threads = plan.threads
  const by = plan.threads === 1 ? 'one thread' : `${plan.threads} threads`
  tell({ stage: 'plan', solver: '', reason: `decoding takes up to ${formatBytes(plan.bytes)} of the memory, by ${by}` })
}

async function schemaOf(
  paths: string[],
  options: ResolvedOptions,
  learn: typeof learnSchema,
): Promise<Schema | undefined> {
  if (isGivenRows(paths[0])) {
    const said = tableOptionNames.find(name => options.given.has(name))
    if (said !== undefined) throw new UsageError(`${said} is for tables, and the data is rows: it would be ignored`)
    return undefined
  }
  const folder = paths.length === 1 && (await stat(paths[0]).catch(() => undefined))?.isDirectory()
  if (folder) return (await openStore(paths[0])).manifest.schema
  const learnt = await learn(paths, options)
  if (learnt) options.format = learnt.format
  return learnt?.schema
}
