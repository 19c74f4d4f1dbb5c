// Every input format, one line each.
import type { InputFormat } from './input-format.ts'
import { libsvm } from './libsvm.ts'

export const allInputFormats: InputFormat[] = [libsvm]

export function findInputFormat(name: string): InputFormat {
  const found = allInputFormats.find(format => format.name === name)
  if (!found) throw new Error(`no input format "${name}"`)
  return found
}
