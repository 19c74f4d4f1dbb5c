// The polynomial that stands for a kernel, written down once more from the papers' formulas: interpolation in t = ln(x + 0.05),
// in one argument as in the papers, or in both as Spillway has it; and the projection on what the kernel is at the nodes.
// Shares nothing with src/.
import type { ScalarKernel } from './kernel-oracle.ts'

const t = (x: number): number => Math.log(x + 0.05)

/** Chebyshev's nodes of the interval that t runs through, formula (16). */
export function chebyshevNodes(degree: number): number[] {
  const [a, b] = [t(0), t(1)]
  return Array.from({ length: degree + 1 }, (_, k) => {
    const node = (a + b) / 2 + ((b - a) / 2) * Math.cos(((2 * (k + 1) - 1) / (2 * (degree + 1))) * Math.PI)
    return Math.exp(node) - 0.05
  })
}

/** At equal steps of ln(x + 0.01), the last at 1. */
export function evenNodes(degree: number): number[] {
  return Array.from({ length: degree + 1 }, (_, k) => 0.01 * 101 ** ((k + 1) / (degree + 1)) - 0.01)
}

export const adHocNodes = [0.01, 0.06, 0.75]

/** The value at x of the polynomial through (node, value), by Neville's scheme. */
export function interpolate(nodes: number[], values: number[], x: number): number {
  const column = [...values]
  for (let width = 1; width < nodes.length; width++) {
    for (let k = 0; k + width < nodes.length; k++) {
      const [left, right] = [t(nodes[k]), t(nodes[k + width])]
      column[k] = ((t(x) - right) * column[k] + (left - t(x)) * column[k + 1]) / (left - right)
    }
  }
  return column[0]
}

/** κ(·, y) interpolated in its first argument. */
export function inOneArgument(kernel: ScalarKernel, nodes: number[]): ScalarKernel {
  return (x, y) =>
    interpolate(
      nodes,
      nodes.map(node => kernel(node, y)),
      x,
    )
}

const binned = (x: number, bins: number): number => Math.floor(x * bins + 0.5) / bins

/** Interpolated in both; 0 when either is 0. Values fall into bins first. */
export function inBothArguments(kernel: ScalarKernel, nodes: number[], bins: number): ScalarKernel {
  const one = inOneArgument(kernel, nodes)
  const other = inOneArgument((x, y) => one(y, x), nodes)
  return (x, y) => {
    const [a, b] = [binned(x, bins), binned(y, bins)]
    return a === 0 || b === 0 ? 0 : other(a, b)
  }
}

/** κ(x, c) M⁻¹ κ(c, y), M = κ(c, c): the equations are solved by elimination, dependent ones left out. */
export function projected(kernel: ScalarKernel, nodes: number[], bins: number): ScalarKernel {
  const solve = (right: number[]): number[] => {
    const rows = nodes.map((x, i) => [...nodes.map(y => kernel(x, y)), right[i]])
    const used: { row: number[]; column: number }[] = []
    const open = new Set(nodes.keys())
    while (open.size > 0) {
      // The largest pivot left on the diagonal, as for any positive matrix.
      const column = [...open].reduce((a, b) => (rows[b][b] > rows[a][a] ? b : a))
      open.delete(column)
      if (rows[column][column] < 1e-13) continue
      used.push({ row: rows[column], column })
      for (const i of open) {
        const factor = rows[i][column] / rows[column][column]
        for (let k = 0; k <= nodes.length; k++) rows[i][k] -= factor * rows[column][k]
      }
    }
    const solution = nodes.map(() => 0)
    for (const { row, column } of used.reverse()) {
      const known = used.filter(other => other.column !== column)
      const sum = known.reduce((total, other) => total + row[other.column] * solution[other.column], 0)
      solution[column] = (row[nodes.length] - sum) / row[column]
    }
    return solution
  }
  const kept = new Map<number, number[]>()
  return (x, y) => {
    const [a, b] = [binned(x, bins), binned(y, bins)]
    if (a === 0 || b === 0) return 0
    const found = kept.get(b) ?? solve(nodes.map(node => kernel(node, b)))
    kept.set(b, found)
    return nodes.reduce((sum, node, k) => sum + kernel(a, node) * found[k], 0)
  }
}
