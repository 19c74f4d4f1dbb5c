// A table of numbers, names and missing cells, the same each time, and its CSV.
export interface SomeTable {
  names: string[]
  columns: (number | string | null)[][]
}

export function someTable(rows: number): SomeTable {
  let state = 7
  const draw = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  const towns = ['Ulm', 'a "quoted" one', 'tab\there', 'Köln, am Rhein']
  const made = Array.from({ length: rows }, () => {
    const age = draw() < 0.05 ? null : Math.floor(20 + draw() * 50)
    const gain = (draw() - 0.3) * 10 ** Math.floor(draw() * 9 - 4)
    const town = towns[Math.floor(draw() * towns.length)]
    return [age, gain, town, (age ?? 30) / 20 + (town === 'Ulm' ? 1 : 0) + draw() > 2.5 ? 'yes' : 'no']
  })
  return { names: ['age', 'gain', 'town', 'bought'], columns: [0, 1, 2, 3].map(k => made.map(row => row[k])) }
}

export function tableAsCsv({ names, columns }: SomeTable): string {
  const cell = (value: number | string | null): string =>
    typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : String(value ?? '')
  const lines = columns[0].map((_, r) => columns.map(column => cell(column[r])).join(','))
  return `${names.join(',')}\n${lines.join('\n')}\n`
}
