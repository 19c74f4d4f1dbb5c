// Results as JSON, for machines and later runs, and as a page with tables, for people.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drawCharts } from './chart.ts'
import type { Machine } from './machine.ts'
import { LEAST_ROUNDS } from './rounds.ts'
import type { Cell, Column, Section, Table } from './suite.ts'

const projectFolder = fileURLToPath(new URL('../', import.meta.url))

export interface Results {
  suite: string
  command: string
  /** False while sections are still to come. */
  complete: boolean
  size: string
  rounds: number
  pageCache: string
  limit?: string
  machine: Machine
  sections: Section[]
  skipped: { what: string; why: string }[]
}

export async function writeResults(folder: string, name: string, results: Results): Promise<void> {
  await mkdir(folder, { recursive: true })
  // Where the project lies on this machine is nobody else's business.
  const text = compactJson(results).replaceAll(projectFolder, '')
  await writeFile(join(folder, `${name}.json`), `${text}\n`)
  await writeFile(join(folder, `${name}.md`), page(results, name))
  const charts = results.sections.flatMap(section => section.charts ?? [])
  if (charts.length > 0) await writeFile(join(folder, `${name}.svg`), drawCharts(charts))
}

/** Results of the same command that broke off, or why there are none to go on with: figures of two programs or of two ways to
 *  measure do not belong into one table. */
export async function earlierResults(folder: string, name: string, now: Results): Promise<Results | string> {
  const file = join(folder, `${name}.json`)
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return `there is no ${name}.json`
  const before = JSON.parse(text) as Results
  const sameness = ({ size, rounds, limit, pageCache, machine }: Results): string =>
    JSON.stringify([size, rounds, limit, pageCache, machine.spillway, machine.commit, machine.processor])
  if (sameness(before) !== sameness(now)) return `${name}.json is of another build, another machine or other settings`
  return before
}

/** The row of a table that has these cells, among sections of a run that broke off. */
export function rowBefore(sections: Section[], key: Record<string, Cell>): Record<string, Cell> | undefined {
  const rows = sections.flatMap(({ tables }) => tables.flatMap(({ rows }) => rows))
  return rows.find(row => Object.entries(key).every(([name, value]) => row[name] === value))
}

/** JSON for people, too: whatever holds nothing but numbers and words, or lists of them, stands on one line. */
export function compactJson(value: unknown, margin = ''): string {
  const isPlain = (each: unknown): boolean => typeof each !== 'object' || each === null
  const isShort = (each: unknown): boolean => isPlain(each) || (Array.isArray(each) && each.every(isPlain))
  // What JSON leaves out or writes in its own way is none of ours to decide.
  const whole = JSON.parse(JSON.stringify(value ?? null)) as unknown
  if (isPlain(whole) || Object.values(whole as object).every(isShort)) return JSON.stringify(whole)
  const inner = `${margin}  `
  const [open, close] = Array.isArray(whole) ? '[]' : '{}'
  const lines = Object.entries(whole as object).map(
    ([key, each]) => `${inner}${Array.isArray(whole) ? '' : `${JSON.stringify(key)}: `}${compactJson(each, inner)}`,
  )
  return `${open}\n${lines.join(',\n')}\n${margin}${close}`
}

/** `name` is that of the files, for the picture beside the page. */
export function page(results: Results, name = results.suite): string {
  const { machine } = results
  const memory = (machine.memoryBytes / 2 ** 30).toFixed(1)
  const versions = [
    `Node ${machine.node}`,
    machine.spillway
      ? `Spillway ${machine.spillway}${machine.commit ? ` (${machine.commit})` : ''}${machine.spillwayBuild === 'sources' ? ', run from its sources' : ''}`
      : 'no Spillway',
    machine.liblinear ? `LIBLINEAR ${machine.liblinear}` : 'no LIBLINEAR',
  ]
  const facts = [
    ['Date', machine.date],
    ['Machine', `${machine.cores} cores, ${machine.processor}, ${memory} GiB, ${machine.system}`],
    ['Programs', versions.join('; ')],
    ['Load average at the start', machine.loadAverage.join(', ')],
    ['Rounds', `${results.rounds}, peers interleaved, order rotated; smallest time, spread = largest / smallest`],
    ['Page cache', results.pageCache],
    ...(results.limit ? [['Memory cap', `${results.limit}, page cache included`]] : []),
    ['Size', results.size],
    ['Command', `\`${results.command}\``],
  ]
  const warnings = [
    ...(results.rounds < LEAST_ROUNDS
      ? [`**Fewer than ${LEAST_ROUNDS} rounds: a trial of the harness, not a measurement.**`]
      : []),
    ...(results.complete ? [] : ['**Not complete: the run is still going on, or broke off.**']),
  ]
  const skipped = results.skipped.map(({ what, why }) => `- ${what}: ${why}`)
  return `${[
    `# ${results.suite}`,
    ...warnings,
    facts.map(([what, text]) => `- ${what}: ${text}`).join('\n'),
    ...results.sections.flatMap(sectionParts),
    ...(results.sections.some(section => section.charts?.length) ? [`![Lines over time](${name}.svg)`] : []),
    ...(skipped.length > 0 ? ['## Not measured', skipped.join('\n')] : []),
  ].join('\n\n')}\n`
}

function sectionParts(section: Section): string[] {
  return [
    `## ${section.title}`,
    `Goal: ${section.goal}`,
    section.protocol.join(' '),
    ...section.tables.filter(table => table.rows.length > 0).flatMap(tableParts),
    ...(section.notes.length > 0 ? [section.notes.map(note => `- ${note}`).join('\n')] : []),
  ].filter(part => part !== '')
}

function tableParts({ title, columns, rows }: Table): string[] {
  const keys = Object.keys(columns)
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`
  const rules = keys.map(key => (rows.some(row => typeof row[key] === 'number') ? '--:' : '---'))
  const table = [
    line(keys.map(key => columns[key].title)),
    line(rules),
    ...rows.map(row => line(keys.map(key => showCell(row[key], columns[key])))),
  ].join('\n')
  return title ? [`### ${title}`, table] : [table]
}

export function showCell(cell: Cell, { show }: Column): string {
  if (cell === undefined) return '–'
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no'
  if (typeof cell === 'string') return cell
  if (Number.isNaN(cell)) return '–'
  switch (show) {
    case 'seconds':
      return cell < 10 ? cell.toFixed(3) : cell.toFixed(1)
    case 'megabytes':
      return (cell / 1e6).toFixed(cell < 1e7 ? 1 : 0)
    case 'bytes':
    case 'count':
      return cell.toLocaleString('en')
    case 'ratio':
      return cell.toFixed(2)
    case 'times':
      return `${cell.toFixed(cell < 10 ? 2 : 1)}×`
    case 'difference':
      return cell === 0 ? '0' : cell.toExponential(1)
    case 'share':
      return `${(100 * cell).toFixed(1)} %`
    case 'share2':
      return `${(100 * cell).toFixed(2)} %`
    case 'fixed2':
      return cell.toFixed(2)
    default:
      return String(cell)
  }
}

/** "3 of 5", for the line that sums a section up. */
export function reachedOf(rows: Record<string, Cell>[], key: string): string {
  const judged = rows.filter(row => typeof row[key] === 'boolean')
  return `${judged.filter(row => row[key] === true).length} of ${judged.length}`
}

/** The mean of ratios: twice as fast here and half as fast there is no gain. */
export function geometricMean(values: number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)
}
