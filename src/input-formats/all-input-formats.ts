// Every input format, one line each.
import { UsageError } from '../errors.ts'
import { arrow } from './arrow.ts'
import { csv } from './csv.ts'
import type { InputFormat } from './input-format.ts'
import { labelString } from './label-string.ts'
import { libsvm } from './libsvm.ts'
import { npy } from './npy.ts'
import { npz } from './npz.ts'
import { parquet } from './parquet.ts'
import { tsv } from './tsv.ts'
import { vw } from './vw.ts'

/** The first one is what text is taken for that shows nothing else. */
export const allInputFormats: InputFormat[] = [libsvm, labelString, vw, csv, tsv, npy, npz, parquet, arrow]

/** What text was before a file could say its format: files that do not say it are in this one. */
export const usualInputFormat = allInputFormats[0]

const AUTO = 'auto'
/** What --format takes. */
export const formatChoices = (): string[] => [AUTO, ...allInputFormats.map(format => format.name)]

export function findInputFormat(name: string): InputFormat {
  const found = allInputFormats.find(format => format.name === name)
  if (!found) throw new UsageError(`there is no input format "${name}"; expected one of ${formatChoices().join(', ')}`)
  return found
}

/** What to ask a reading for where the number of the first feature is known: nothing, where the format itself numbers the
 *  features. Asking would be refused there. */
export function knownIndexBase<N extends number>(format: string, known: N): N | undefined {
  return typeof findInputFormat(format).cut.indexBase === 'number' ? undefined : known
}

/** Whether inputs are files, pipes among them, as far as was asked for. */
export function readsFiles(name: string | undefined): boolean {
  const cut = askedInputFormat(name)?.cut
  return !(cut?.by === 'plan' && cut.noFiles)
}

/** The format that was asked for; undefined when the text is to show it. */
export function askedInputFormat(name: string | undefined): InputFormat | undefined {
  return name === undefined || name === AUTO ? undefined : findInputFormat(name)
}
