// Every input format of the list is held to what input formats promise.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { allInputFormats } from '../../src/input-formats/all-input-formats.ts'
import { type FilePair, inputFormatContract } from './input-format-contract.ts'

const folder = fileURLToPath(new URL('../fixtures/input-formats', import.meta.url))

/** The files of a format that is opened, or of one of tables. */
function pairOf(name: string): FilePair {
  const files = readdirSync(folder).filter(file => file.startsWith(`${name}.`))
  const text = files.find(file => file.endsWith('.svm'))
  const file = files.find(other => other !== text)
  if (!file || !text) throw new Error(`${folder} has no pair of files for ${name}`)
  return { file: join(folder, file), text: join(folder, text) }
}

for (const format of allInputFormats) {
  inputFormatContract(format, format.cut.by === 'plan' || format.cut.delimiters ? pairOf(format.name) : undefined)
}
