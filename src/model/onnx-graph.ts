// A graph of ONNX: nodes, tensors, inputs and outputs by name, as messages of onnx.proto. The numbers of fields and types are
// those of that file.
import { Message } from './protobuf.ts'

/** Opset 17 came with ONNX 1.12 (2022); its files have version 8. */
export const OPSET = 17
export const IR_VERSION = 8

const FLOAT = 1
const INT64 = 7
const STRING = 8
const DOUBLE = 11
export const elementTypes = { float: FLOAT, int64: INT64, string: STRING, double: DOUBLE } as const
export type ElementType = keyof typeof elementTypes

const ATTRIBUTE_INT = 2
const ATTRIBUTE_INTS = 7
const ATTRIBUTE_STRINGS = 8

/** Operators of machine learning, the version of which came with ONNX 1.12 too. */
export const ML_DOMAIN = 'ai.onnx.ml'
export const ML_OPSET = 3

type Attribute = number | number[] | string[]

export class OnnxGraph {
  readonly #nodes: Message[] = []
  readonly #tensors: Message[] = []
  readonly #inputs: Message[] = []
  readonly #outputs: Message[] = []
  #names = 0
  readonly #taken: ReadonlySet<string>

  /** `taken`: names that are for inputs and outputs alone. */
  constructor(taken: ReadonlySet<string> = new Set()) {
    this.#taken = taken
  }

  #freeName(wanted: string): string {
    let name = wanted
    while (this.#taken.has(name)) name += '_'
    return name
  }

  /** Adds a node of one output; the output's name. */
  node(
    type: string,
    inputs: string[],
    attributes: Record<string, Attribute> = {},
    output = this.#freeName(`${type.toLowerCase()}_${++this.#names}`),
  ): string {
    this.#nodes.push(node(type, inputs, attributes, output))
    return output
  }

  /** The same of an operator of machine learning. */
  mlNode(type: string, inputs: string[], attributes: Record<string, Attribute>): string {
    const output = this.#freeName(`${type.toLowerCase()}_${++this.#names}`)
    this.#nodes.push(node(type, inputs, attributes, output).text(7, ML_DOMAIN))
    return output
  }

  /** Adds a tensor of f64; its name. */
  numbers(wanted: string, shape: number[], values: ArrayLike<number>): string {
    const name = this.#freeName(wanted)
    const bytes = new DataView(new ArrayBuffer(values.length * 8))
    for (let k = 0; k < values.length; k++) bytes.setFloat64(k * 8, values[k], true)
    this.#tensors.push(tensor(name, shape, 'double').bytes(9, new Uint8Array(bytes.buffer)))
    return name
  }

  /** The same of f32. */
  floats(wanted: string, values: number[]): string {
    const name = this.#freeName(wanted)
    const bytes = new DataView(new ArrayBuffer(values.length * 4))
    for (const [k, value] of values.entries()) bytes.setFloat32(k * 4, value, true)
    this.#tensors.push(tensor(name, [values.length], 'float').bytes(9, new Uint8Array(bytes.buffer)))
    return name
  }

  /** The same as `numbers`, made when it is written. */
  manyNumbers(wanted: string, shape: number[], chunks: () => Iterable<Uint8Array>): string {
    const name = this.#freeName(wanted)
    const count = shape.reduce((product, size) => product * size, 1)
    this.#tensors.push(tensor(name, shape, 'double').later(9, count * 8, chunks))
    return name
  }

  integers(wanted: string, shape: number[], values: number[]): string {
    const name = this.#freeName(wanted)
    const bytes = new DataView(new ArrayBuffer(values.length * 8))
    values.forEach((value, k) => {
      bytes.setBigInt64(k * 8, BigInt(value), true)
    })
    this.#tensors.push(tensor(name, shape, 'int64').bytes(9, new Uint8Array(bytes.buffer)))
    return name
  }

  texts(wanted: string, values: string[]): string {
    const name = this.#freeName(wanted)
    const message = tensor(name, [values.length], 'string')
    for (const value of values) message.text(6, value)
    this.#tensors.push(message)
    return name
  }

  /** A size that is no number has a name, and any value. */
  input(name: string, type: ElementType, shape: (number | string)[]): string {
    this.#inputs.push(valueInfo(name, type, shape))
    return name
  }

  output(name: string, type: ElementType, shape: (number | string)[]): void {
    this.#outputs.push(valueInfo(name, type, shape))
  }

  message(name: string): Message {
    const message = new Message()
    for (const node of this.#nodes) message.message(1, node)
    message.text(2, name)
    for (const tensor of this.#tensors) message.message(5, tensor)
    for (const input of this.#inputs) message.message(11, input)
    for (const output of this.#outputs) message.message(12, output)
    return message
  }
}

function node(type: string, inputs: string[], attributes: Record<string, Attribute>, output: string): Message {
  const message = new Message()
  for (const input of inputs) message.text(1, input)
  message.text(2, output).text(3, output).text(4, type)
  for (const [name, value] of Object.entries(attributes)) message.message(5, attribute(name, value))
  return message
}

function attribute(name: string, value: Attribute): Message {
  const message = new Message().text(1, name)
  if (typeof value === 'number') return message.number(3, value).number(20, ATTRIBUTE_INT)
  for (const each of value) typeof each === 'string' ? message.text(9, each) : message.number(8, each)
  return message.number(20, typeof value[0] === 'string' ? ATTRIBUTE_STRINGS : ATTRIBUTE_INTS)
}

function tensor(name: string, shape: number[], type: ElementType): Message {
  const message = new Message()
  for (const size of shape) message.number(1, size)
  return message.number(2, elementTypes[type]).text(8, name)
}

function valueInfo(name: string, type: ElementType, shape: (number | string)[]): Message {
  const sizes = new Message()
  for (const size of shape) {
    sizes.message(1, typeof size === 'number' ? new Message().number(1, size) : new Message().text(2, size))
  }
  const ofTensor = new Message().number(1, elementTypes[type]).message(2, sizes)
  return new Message().text(1, name).message(2, new Message().message(1, ofTensor))
}
