// The columns of a table as inputs of a graph of ONNX: numbers as they are, names by the list of values. What comes out is the
// matrix of features that a model has its weights for.
//
//   age [N, 1] number      ─► 0 where it is NaN, 1 where it is missing ─┐
//   job [N, 1] text        ─► place in the list ─► one-hot             ─┴─► features [N, features]
import { type CategoryColumn, featuresOf, hasFeatures, type NumberColumn, type Schema } from '../tables/schema.ts'
import { inputFeatures, type Model } from './model.ts'
import { elementTypes, type OnnxGraph } from './onnx-graph.ts'

/** What the outputs are called. */
const OUTPUTS = ['label', 'scores', 'probabilities']

type InputColumn = NumberColumn | CategoryColumn

/** ONNX has no operator for the hashes of columns. */
export function hasColumnInputs(model: Model): boolean {
  const { schema } = model
  if (!schema || schema.features !== inputFeatures(model)) return false
  return !schema.columns.some(column => 'bits' in column)
}

function inputColumns({ columns }: Schema): InputColumn[] {
  return columns.filter((column): column is InputColumn => hasFeatures(column) && !('bits' in column))
}

/** What the input of each column is called: as the column, unless an output is called so. */
export function inputNames(schema: Schema): Map<InputColumn, string> {
  const taken = new Set([...OUTPUTS, ...schema.columns.map(({ name }) => name)])
  return new Map(
    inputColumns(schema).map(column => {
      let { name } = column
      if (OUTPUTS.includes(name)) while (taken.has(name)) name += '_'
      taken.add(name)
      return [column, name]
    }),
  )
}

export function addColumns(graph: OnnxGraph, schema: Schema, numberType: 'float' | 'double'): string {
  const parts: string[] = []
  for (const [column, name] of inputNames(schema)) {
    if (column.role === 'number') parts.push(...addNumber(graph, column, graph.input(name, numberType, ['N', 1])))
    else parts.push(addNames(graph, column, graph.input(name, 'string', ['N', 1])))
  }
  return graph.node('Concat', parts, { axis: 1 })
}

/** A number, and whether it is missing if that has a feature. */
function addNumber(graph: OnnxGraph, column: NumberColumn, input: string): string[] {
  const number = graph.node('Cast', [input], { to: elementTypes.double })
  const isMissing = graph.node('IsNaN', [number])
  const zero = graph.numbers(`zero_${column.feature}`, [], [0])
  const filled = graph.node('Where', [isMissing, zero, number])
  return column.missing === undefined
    ? [filled]
    : [filled, graph.node('Cast', [isMissing], { to: elementTypes.double })]
}

/** 1 at the place of the value; a value that is not in the list has none. */
function addNames(graph: OnnxGraph, column: CategoryColumn, input: string): string {
  const width = featuresOf(column)
  const known = [...column.values.entries()].map(([place, value]): [string, number] => [value, place])
  const missing = column.missing === undefined ? [] : missingTexts().map((text): [string, number] => [text, width - 1])
  const keys = [...known, ...missing]
  const places = graph.mlNode('LabelEncoder', [input], {
    keys_strings: keys.map(([text]) => text),
    values_int64s: keys.map(([, place]) => place),
    // A place beyond the last is nowhere 1.
    default_int64: width,
  })
  const depth = graph.integers(`width_${column.feature}`, [], [width])
  const offAndOn = graph.floats(`off_and_on_${column.feature}`, [0, 1])
  const hot = graph.node('OneHot', [places, depth, offAndOn], { axis: 2 })
  const flat = graph.node('Reshape', [hot, graph.integers(`flat_${column.feature}`, [2], [-1, width])])
  return graph.node('Cast', [flat], { to: elementTypes.double })
}

/** All ways to write that a cell is missing. */
function missingTexts(): string[] {
  const cases = (text: string): string[] =>
    [...text].reduce<string[]>(
      (all, letter) => all.flatMap(start => [start + letter.toLowerCase(), start + letter.toUpperCase()]),
      [''],
    )
  return ['', '?', ...cases('na'), ...cases('nan'), ...cases('null')]
}
