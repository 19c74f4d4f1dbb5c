// Data that is no file: queries, which stand among the names of files by a path that no file can have; and files that the data of a
// query or a pipe was put into, which are called by what they stand for.
import { basename } from 'node:path'
import { withoutCompression } from './compressions.ts'

/** What is asked of a database. */
export interface SqlQuery {
  sql: string
}

/** Begins a path that no file can have. */
const PREFIX = '\0query '
const queries = new Map<string, string>()

/** A path for a query, for all that take names of files. */
export function pathOfQuery(sql: string): string {
  // Loaded late: most runs do without it.
  const { createHash } = process.getBuiltinModule('node:crypto')
  const path = `${PREFIX}${createHash('sha256').update(sql).digest('hex').slice(0, 16)}`
  queries.set(path, sql)
  return path
}

export function isQuery(path: string): boolean {
  return path.startsWith(PREFIX)
}

export function isSqlQuery(data: unknown): data is SqlQuery {
  return typeof data === 'object' && data !== null && typeof (data as SqlQuery).sql === 'string'
}

export function sqlOf(path: string): string {
  const sql = queries.get(path)
  if (sql === undefined) throw new Error('no such query')
  return sql
}

/** Files that data was put into, and the paths that it had before. */
const spooled = new Map<string, string>()

export function standsFor(file: string, path: string): void {
  spooled.set(file, path)
}

export function standsNoMore(file: string): void {
  spooled.delete(file)
}

/** The path that the user gave. */
export function givenPath(path: string): string {
  return spooled.get(path) ?? path
}

/** What messages call a query's rows. They have no lines of their own, so lines are those of a table with its header. */
export const QUERY_NAME = 'the rows of the query'

/** What files that are made of an input are named after. */
export function baseName(path: string): string {
  const given = givenPath(path)
  return given === '-' ? 'stdin' : isQuery(given) ? 'query' : withoutCompression(basename(given))
}
