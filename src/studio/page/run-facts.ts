// Looks facts up in what a run tells of itself, which is JSON of any shape.

/** What stands at a path of names; undefined where there is nothing. */
export function valueAt(from: unknown, ...path: string[]): unknown {
  let value = from
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value ?? undefined
}

export function numberAt(from: unknown, ...path: string[]): number | undefined {
  const value = valueAt(from, ...path)
  return typeof value === 'number' ? value : undefined
}

export function textAt(from: unknown, ...path: string[]): string | undefined {
  const value = valueAt(from, ...path)
  return typeof value === 'string' ? value : undefined
}
