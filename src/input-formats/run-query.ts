// Runs a query by DuckDB, and gives its rows as tab-separated text, piece by piece. DuckDB is there for those who installed it.
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api'
import { SpillwayError, UsageError } from '../errors.ts'
import type { ByteCount } from '../sizes.ts'
import { RowsAsText } from './columns-to-text.ts'

export interface QuerySettings {
  /** What DuckDB may take. */
  memory: ByteCount
  threads: number
  /** A folder for what does not fit in that. */
  temporary: string
}

/** Text that is handed on at a time. */
const PIECE = 1 << 20
const PACKAGE = '@duckdb/node-api'
/** Letters of what DuckDB complains of. */
const LONGEST_COMPLAINT = 400

async function loadDuckDb() {
  try {
    return await import('@duckdb/node-api')
  } catch (error) {
    const [line] = String((error as Error).message).split('\n')
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' && line.includes(PACKAGE))
      throw new UsageError('a query needs DuckDB, which is not installed', `npm install ${PACKAGE}`)
    throw new SpillwayError(`DuckDB cannot be loaded: ${line}`, `install it again: npm install ${PACKAGE}`)
  }
}

/** The rows of a query in their order, behind a line that names the columns. */
export async function* runQuery(sql: string, settings: QuerySettings): AsyncGenerator<Uint8Array> {
  const { DuckDBInstance, DuckDBTypeId, StatementType } = await loadDuckDb()
  const instance = await inWords(() =>
    DuckDBInstance.create(':memory:', {
      memory_limit: `${Math.floor(settings.memory / 2 ** 20)}MiB`,
      threads: String(settings.threads),
      temp_directory: settings.temporary,
      preserve_insertion_order: 'true',
    }),
  )
  const connection = await instance.connect()
  try {
    const statement = await inWords(() => onlyStatement(connection, sql))
    if (statement.statementType !== StatementType.SELECT) {
      const found = StatementType[statement.statementType]?.toLowerCase() ?? 'something else'
      throw new UsageError(`the query is a statement of the kind ${found}; expected one that selects rows`, SELECT)
    }
    if (statement.parameterCount > 0)
      throw new UsageError(`the query has ${statement.parameterCount} parameters; expected values in their place`)
    const columns = columnsOf(statement, DuckDBTypeId)
    const text = new RowsAsText(columns.map(({ name }) => name))
    text.row(k => columns[k].name)
    const result = await inWords(() => statement.stream())
    for (;;) {
      const chunk = await inWords(() => result.fetchChunk())
      if (!chunk || chunk.rowCount === 0) break
      const cells = columns.map(({ asText }, k) => {
        const values = chunk.getColumnValues(k)
        return asText ? values.map(value => (value === null ? null : String(value))) : values
      })
      for (let r = 0; r < chunk.rowCount; r++) text.row(k => cells[k][r])
      if (text.bytes >= PIECE) yield text.finish()
    }
    const last = text.finish()
    if (last.length > 0) yield last
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

const SELECT = "e.g. SELECT * FROM 'clicks.parquet' WHERE country = 'fr'"

async function onlyStatement(connection: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
  const statements = await connection.extractStatements(sql).catch(error => {
    // Of text without any statement the library says no more than that.
    if (!/native callback/.test(String(error))) throw error
    return undefined
  })
  if (statements?.count === 1) return statements.prepare(0)
  throw new UsageError(`the query has ${statements?.count ?? 0} statements; expected one that selects rows`, SELECT)
}

interface QueryColumn {
  name: string
  /** Whether its values are objects of the library, which say what they are. */
  asText: boolean
}

const NUMBERS_AND_TEXTS = [
  ...['BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT'],
  ...['UHUGEINT', 'FLOAT', 'DOUBLE', 'VARCHAR', 'ENUM', 'BIGNUM', 'SQLNULL'],
]
const AS_TEXT = [
  ...['DECIMAL', 'UUID', 'DATE', 'TIME', 'TIME_TZ', 'TIME_NS'],
  ...['TIMESTAMP', 'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP_NS', 'TIMESTAMP_TZ'],
]

/** The columns of the result. Others than numbers and texts are refused before anything is run. */
function columnsOf(statement: DuckDBPreparedStatement, typeIds: Record<number, string>): QueryColumn[] {
  return Array.from({ length: statement.columnCount }, (_, k) => {
    const name = statement.columnName(k)
    const type = typeIds[statement.columnTypeId(k)]
    const asText = AS_TEXT.includes(type)
    if (!asText && !NUMBERS_AND_TEXTS.includes(type)) {
      throw new SpillwayError(
        `the query gives ${type} in column ${JSON.stringify(name)}, expected numbers or texts`,
        `leave the column out, e.g. with SELECT * EXCLUDE (${JSON.stringify(name)}), or make columns of it`,
      )
    }
    return { name, asText }
  })
}

/** What DuckDB complains of, in one sentence. */
async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SpillwayError) throw error
    const [complaint, ...others] = String((error as Error).message ?? error)
      .replace(/^Failed to extract statements: /, '')
      .split(/\n\s*\n/)[0]
      .split('\n')
    const advice = /^Out of Memory/.test(complaint)
      ? 'give it more --memory, or sort and join less in the query'
      : others.filter(line => !/^(LINE |\s*\^)/.test(line)).join(' ')
    throw new SpillwayError(`the query cannot be run: ${shortened(complaint)}`, shortened(advice) || undefined)
  }
}

/** A complaint may quote a line of the data, which may be of any length. */
function shortened(text: string): string {
  const trimmed = text.trim()
  return trimmed.length > LONGEST_COMPLAINT ? `${trimmed.slice(0, LONGEST_COMPLAINT)}…` : trimmed
}
