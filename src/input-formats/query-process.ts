// The process that runs a query. DuckDB does not give back the memory that it once had, so it has a process of its own, which ends
// before training begins.
import { SpillwayError } from '../errors.ts'
import { writePieces } from '../files/write-pieces.ts'
import { runQuery } from './run-query.ts'
import type { QueryAnswer, QueryToRun } from './start-query.ts'

async function answerTo({ sql, file, ...settings }: QueryToRun): Promise<QueryAnswer> {
  try {
    await writePieces(file, runQuery(sql, settings))
    return {}
  } catch (error) {
    if (error instanceof SpillwayError) {
      const { message, advice, exitCode } = error
      return { refused: { message, advice, exitCode } }
    }
    return { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

// Whoever started it decides when it ends; without them it has nothing to do.
process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit(1))
process.on('message', async (query: QueryToRun) => {
  const answer = await answerTo(query)
  process.send!(answer, () => process.exit(0))
})
