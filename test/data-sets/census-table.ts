// The census data `adult` as a table again: a9a has its fourteen columns as groups of features, of which a row has one each, or
// none where the cell was missing. Numbers are fifths of their range there, and so they are names here.
const COLUMNS: [name: string, features: number][] = [
  ['age', 5],
  ['workclass', 8],
  ['fnlwgt', 5],
  ['education', 16],
  ['education-num', 5],
  ['marital-status', 7],
  ['occupation', 14],
  ['relationship', 6],
  ['race', 5],
  ['sex', 2],
  ['capital-gain', 2],
  ['capital-loss', 2],
  ['hours-per-week', 5],
  ['native-country', 41],
]

/** CSV of rows in LIBSVM text, under a header. */
export function censusTable(lines: readonly string[]): string {
  const rows = lines.map(line => {
    const [label, ...entries] = line.trim().split(/\s+/)
    const features = new Set(entries.map(entry => Number(entry.split(':')[0])))
    let first = 1
    const cells = COLUMNS.map(([name, count]) => {
      const value = Array.from({ length: count }, (_, k) => k + 1).find(k => features.has(first + k - 1))
      first += count
      return value === undefined ? '' : `${name}-${value}`
    })
    return `${cells.join(',')},${Number(label) > 0 ? '>50K' : '<=50K'}\n`
  })
  return `${COLUMNS.map(([name]) => name).join(',')},income\n${rows.join('')}`
}
