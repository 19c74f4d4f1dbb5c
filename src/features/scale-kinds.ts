// What `--scale` can be. rows/scale.ts says what each does, and learns its factors; models keep the name. Nothing here needs Node.

export const scaleKinds = ['minmax', 'standard', 'numbers', 'idf', 'log-odds'] as const
export type ScaleKind = (typeof scaleKinds)[number]

/** Whether factors follow from how many rows have a feature, whatever its values are. */
export function countsRows(kind: ScaleKind | undefined): kind is 'idf' | 'log-odds' {
  return kind === 'idf' || kind === 'log-odds'
}
