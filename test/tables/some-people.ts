// A table that has everything a column can be: numbers, names, some of either missing, a hashed column, a text, a label between them.
import type { NamedRow } from '../../src/model/predict-row.ts'
import { randomNumbers, seed } from '../numeric/reference.ts'

export interface Person extends NamedRow {
  age: number | null
  'job, if any': string | null
  bought: string
  gain: number
  zip: number
  note: string
}

const JOBS = ['clerk', 'judge "Dredd"', 'Köchin', 'a\nb', 'x=y']
const WORDS = ['Good', 'bad', 'NOT', 'größe', '42']

/** Some rows: the same ones each time. */
export function somePeople(count: number): Person[] {
  const random = randomNumbers(seed)
  const one = <T>(list: T[]): T => list[Math.floor(random() * list.length)]
  return Array.from({ length: count }, () => {
    const age = random() < 0.1 ? null : Math.floor(20 + random() * 50)
    const job = random() < 0.1 ? null : one(JOBS)
    const gain = random() < 0.5 ? 0 : Number((random() * 1000 - 300).toPrecision(6))
    const note = Array.from({ length: 1 + Math.floor(random() * 4) }, () => one(WORDS)).join('; ')
    const score = ((age ?? 40) - 45) / 15 + (job === 'clerk' ? 1 : -0.5) + gain / 500 + (note.includes('bad') ? -1 : 0)
    const bought = score + random() - 0.5 > 0 ? 'yes' : 'no'
    return { age, 'job, if any': job, bought, gain, zip: 10_000 + Math.floor(random() * 300), note }
  })
}

const cell = (value: string | number | boolean | null): string =>
  value === null ? '' : typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : String(value)

/** As CSV, with these columns in this order. */
export function csvOf(rows: NamedRow[], columns = Object.keys(rows[0]), delimiter = ','): string {
  const line = (cells: (string | number | boolean | null)[]): string => `${cells.map(cell).join(delimiter)}\n`
  return line(columns) + rows.map(row => line(columns.map(name => row[name] ?? null))).join('')
}
