// What a run is told: checked as it comes in a request or stands in a file, and written as the words of a command line. No value
// can become an option: a word has its option's name and the value in one.
import { findLoss } from '../losses/all-losses.ts'
import { askedSolver } from '../optimise/solvers/all-solvers.ts'
import { RequestError } from '../serve/request-error.ts'
import { sizeText } from '../sizes.ts'
import { resolveOptions, type TrainOptions } from '../train/options.ts'

/** As requests have them. */
export interface RunOptions {
  loss?: string
  cost?: number
  solver?: string
  kernel?: string
  /** Of a truncated loss: how far beyond the margin outliers are. */
  outlierMargin?: number
  /** Features made of those of the data. */
  expand?: string
  /** Bytes. */
  memory?: number
  tolerance?: number
  bias?: number
  normalize?: string
  scale?: string
  multiclass?: string
  /** The name of a file in the folder. */
  test?: string
  /** Of a table: the column with the labels. */
  label?: string
  /** What is done with rows that cannot be read: `fail` or `skip`. */
  onBadRow?: string
  seed?: number
  maxPasses?: number
}

type Kind = 'text' | 'number'

const KINDS: Record<keyof RunOptions, Kind> = {
  ...{ loss: 'text', cost: 'number', solver: 'text', kernel: 'text', memory: 'number', tolerance: 'number' },
  ...{ bias: 'number', normalize: 'text', scale: 'text', multiclass: 'text', test: 'text', label: 'text' },
  ...{ outlierMargin: 'number', expand: 'text', onBadRow: 'text', seed: 'number', maxPasses: 'number' },
}

const MOST_TEXT = 1024

/** Refuses what is no option, has the wrong kind, or would be refused by `train` whatever the data. Null means not said. */
export function checkedOptions(given: unknown): RunOptions {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object' || Array.isArray(given)) throw new RequestError(400, 'options is no object of options')
  const options: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(KINDS, name))
      throw new RequestError(400, `there is no option ${JSON.stringify(name.slice(0, 40))}`)
    if (value === null || value === undefined || value === '') continue
    const kind = KINDS[name as keyof RunOptions]
    const fits = kind === 'text' ? isShortText(value) : typeof value === 'number' && Number.isFinite(value)
    if (!fits) throw new RequestError(400, `the option ${name} is not ${kind === 'text' ? 'a short text' : 'a number'}`)
    options[name] = value
  }
  const { loss, solver } = resolveOptions(trainOptionsOf(options))
  findLoss(loss)
  askedSolver(solver)
  return options
}

const isShortText = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= MOST_TEXT && !value.includes('\0')

/** As the library takes them: all but the data to test on. */
export function trainOptionsOf({ test: _, ...options }: RunOptions): TrainOptions {
  return { ...options } as TrainOptions
}

/** Words of the command line, the names of files left out. Those of people are two words, and quoted where a shell asks for it. */
export function optionWords({ test: _, memory, ...options }: RunOptions): string[] {
  const said = Object.entries({ ...options, ...(memory !== undefined && { memory: sizeText(memory) }) })
  return said.map(([name, value]) => `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}=${value}`)
}

/** The command as somebody would type it in the folder. */
export function commandOf(data: string, options: RunOptions): string {
  const test = options.test === undefined ? [] : [`--test=${options.test}`, '--evaluate']
  const first = data.startsWith('-') ? `./${data}` : data
  return ['spillway', 'train', first, ...optionWords(options), ...test].map(quoted).join(' ')
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
