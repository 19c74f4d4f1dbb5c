// The list of model files: a new format is one file and one line here, and `spillway convert` offers it.

import { SpillwayError } from '../errors.ts'
import type { Xxh64 } from '../files/xxh64.ts'
import { isJsonModel, writeJson } from './json-file.ts'
import { isLiblinearFile, liblinearWarnings, readLiblinear, writeLiblinear } from './liblinear-file.ts'
import type { Model } from './model.ts'
import { isOnnxFile, onnxWarnings, writeOnnx } from './onnx-file.ts'
import { decodeModel, encodeModelChunks, isOwnFile } from './own-file.ts'
import { isPmmlFile, pmmlWarnings, writePmml } from './pmml-file.ts'

export interface ModelWriteOptions {
  /** Write although the file leaves something to its reader; `warnings` says what. */
  force?: boolean
}

export interface ModelFormat {
  name: string
  /** One line for the help. */
  summary: string
  /** Tells by the first bytes of a file, a few kilobytes at most. */
  detect(bytes: Uint8Array): boolean
  /** `file` is the name in complaints, `hash` what makes a checksum. Formats without it are for others to read. */
  read?(bytes: Uint8Array, file: string, hash?: Xxh64): Model
  /** Throws before the first piece when the format cannot hold the model. */
  write(model: Model, options?: ModelWriteOptions): Iterable<Uint8Array>
  /** What the user should know about the file written. */
  warnings?(model: Model): string[]
}

export const allModelFormats: readonly ModelFormat[] = [
  {
    name: 'spillway',
    summary: "Spillway's own file, which keeps everything",
    detect: isOwnFile,
    read: decodeModel,
    write: model => encodeModelChunks(model),
  },
  {
    name: 'liblinear',
    summary: "LIBLINEAR's model file, for liblinear-predict",
    detect: isLiblinearFile,
    read: readLiblinear,
    write: writeLiblinear,
    warnings: liblinearWarnings,
  },
  {
    name: 'json',
    summary: 'everything as JSON, for people and other programs',
    detect: isJsonModel,
    write: writeJson,
  },
  {
    name: 'onnx',
    summary: 'a graph of ONNX (opset 17), for its runtimes; rows are dense',
    detect: isOnnxFile,
    write: writeOnnx,
    warnings: onnxWarnings,
  },
  {
    name: 'pmml',
    summary: "PMML 4.4, a RegressionModel by features' names",
    detect: isPmmlFile,
    write: writePmml,
    warnings: pmmlWarnings,
  },
]

export function modelFormat(name: string): ModelFormat {
  const found = allModelFormats.find(format => format.name === name)
  if (found) return found
  const names = allModelFormats.map(format => format.name).join(', ')
  throw new SpillwayError(`there is no model format "${name}"; expected one of ${names}`)
}

export type ReadableModelFormat = ModelFormat & Required<Pick<ModelFormat, 'read'>>

/** The format of a file that starts with these bytes, or undefined when it is no model. 64 bytes are enough. */
export function detectModelFormat(start: Uint8Array): ModelFormat | undefined {
  return allModelFormats.find(format => format.detect(start))
}

/** The same for a file that has to be a model: refuses with words what cannot be read as one. */
export function readableModelFormat(start: Uint8Array, file: string): ReadableModelFormat {
  const found = detectModelFormat(start)
  if (found?.read) return found as ReadableModelFormat
  const readable = allModelFormats.filter(format => format.read).map(format => format.name)
  const expected = `a model in one of the formats ${readable.join(', ')}`
  if (found) {
    throw new SpillwayError(
      `${file} is a model in the format ${found.name}, which is for other programs to read; expected ${expected}`,
      'give the model that it was converted from',
    )
  }
  const { what, advice } = guess(start)
  throw new SpillwayError(`${file} is not a model: ${what}; expected ${expected}`, advice)
}

// The likely mix-ups: data where the model belongs, a kernel model of LIBSVM, a compressed file.
function guess(start: Uint8Array): { what: string; advice?: string } {
  if (start.length === 0) return { what: 'it is empty' }
  const magic = Array.from(start.subarray(0, 4), byte => byte.toString(16).padStart(2, '0')).join('')
  if (magic.startsWith('1f8b') || magic === '28b52ffd') {
    return { what: 'it is compressed', advice: 'unpack it first' }
  }
  const line = String.fromCharCode(...start.subarray(0, 200)).split('\n', 1)[0]
  if (line.startsWith('svm_type')) {
    return { what: 'it is a model of LIBSVM, whose kernels need the support vectors' }
  }
  const shown = `it begins with ${JSON.stringify(line.slice(0, 40))}`
  if (/^\S+(\s+\d+:\S+)+/.test(line)) {
    return { what: `${shown}, which looks like data`, advice: 'commands take the data first, then the model' }
  }
  return { what: shown }
}
