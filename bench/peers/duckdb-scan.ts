// node duckdb-scan.ts FILE THREADS: has DuckDB read every cell of a table, and prints how many rows there are. With MAKE in place of
// THREADS and a number of rows behind it, writes such a table.
import { DuckDBInstance } from '@duckdb/node-api'

const COLUMNS = 12

const [file, threads, rows] = process.argv.slice(2)
const instance = await DuckDBInstance.create(':memory:', { threads: threads === 'MAKE' ? '2' : threads })
const connection = await instance.connect()
if (threads === 'MAKE') {
  // Three digits behind the point, of either sign; the label depends on two of them.
  const cell = (k: number): string => `round((hash(i * ${COLUMNS} + ${k}) % 20000)::DOUBLE / 1000 - 10, 3) AS x${k}`
  const cells = Array.from({ length: COLUMNS }, (_, k) => cell(k)).join(', ')
  const format = file.endsWith('.parquet') ? 'FORMAT parquet, ROW_GROUP_SIZE 20480' : 'FORMAT csv, HEADER'
  await connection.run(
    `COPY (SELECT (x0 > x1)::INT AS label, * FROM (SELECT ${cells} FROM range(${Number(rows)}) t(i))) TO '${file}' (${format})`,
  )
} else {
  const sums = Array.from({ length: COLUMNS }, (_, k) => `sum(x${k})`).join(' + ')
  const result = await connection.runAndReadAll(`SELECT count(*), ${sums} FROM '${file}'`)
  console.log(String(result.getRows()[0][0]))
}
connection.closeSync()
instance.closeSync()
