// What a command is: its own options, help and examples in one place; one parser for all of them.
import { UsageError } from '../errors.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { parseBytes, parseMemory } from '../sizes.ts'

export interface OptionSpec {
  /** What stands for the value in the help, e.g. `FILE`; without it the option is a flag. */
  value?: string
  /** One line for --help. */
  help: string
  /** A one-letter form, e.g. `c` for `-c`. */
  short?: string
  /** May be given several times; the command sees an array. */
  many?: boolean
  /** The values it takes, when they are few. */
  choices?: readonly string[]
  /** Shown in the help. */
  fallback?: string
  /** The heading it stands under in the help. */
  group?: string
}

export type OptionValues = Record<string, string | boolean | string[] | undefined>

export interface CommandInput {
  arguments: string[]
  options: OptionValues
  /** The whole command line as it was typed, the command's name first. */
  words?: string[]
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
  /** The processes that work on it together; `alone` without a launcher. */
  ranks?: Communicator
}

export interface Command {
  name: string
  /** The positional arguments as the help shows them, e.g. `DATA… [MODEL]`. */
  takes: string
  /** Fewest and most positional arguments. */
  count: [number, number]
  options: Record<string, OptionSpec>
  /** An option that names data in place of the first argument. */
  dataOption?: string
  /** Command lines that work, each with what it does. */
  examples: { line: string; does: string }[]
  /** Closing paragraphs of the help, which are wrapped; an indented line is a name, two blanks or more, and its text. */
  notes?: string
  /** Turns other spellings (LIBLINEAR's, say) into this command's own before they are parsed. */
  rewrite?(words: string[]): string[]
  /** Whether --memory asks what a run would do that had so much, wherever that is. */
  asksAboutMemory?: true
  /** Whether it can be shared out among processes. */
  overRanks?: true
  /** Returns the exit code. What does the work is imported here: the help does without it. */
  run(input: CommandInput): Promise<number>
}

export const HELP: OptionSpec = { help: 'show this help', short: 'h' }

/** Splits a command line into positional arguments and options; refuses what the command does not declare. */
export function parseArguments(command: Command, words: string[]): { arguments: string[]; options: OptionValues } {
  const specs: Record<string, OptionSpec> = { ...command.options, help: HELP }
  const byShort = new Map(Object.entries(specs).flatMap(([name, spec]) => (spec.short ? [[spec.short, name]] : [])))
  const values: OptionValues = {}
  const rest: string[] = []
  const take = (name: string, spelling: string, inline: string | undefined, next: () => string | undefined): void => {
    const spec = specs[name]
    if (!spec.value) {
      if (inline !== undefined) throw new UsageError(`${spelling} takes no value, got "${inline}"`)
      values[name] = true
      return
    }
    const value = inline ?? next()
    if (value === undefined) throw new UsageError(`${spelling} needs a value: ${spelling} ${spec.value}`)
    if (spec.choices && !spec.choices.includes(value)) {
      throw new UsageError(`${spelling} is "${value}"; expected one of ${spec.choices.join(', ')}`)
    }
    if (spec.many) values[name] = [...((values[name] as string[] | undefined) ?? []), value]
    else values[name] = value
  }
  for (let k = 0; k < words.length; k++) {
    const word = words[k]
    const next = (): string | undefined => words[++k]
    if (word === '--') {
      rest.push(...words.slice(k + 1))
      break
    }
    if (word.startsWith('--')) {
      const [name, inline] = splitOnce(word.slice(2), '=')
      if (!Object.hasOwn(specs, name)) throw unknownOption(command, `--${name}`, specs)
      take(name, `--${name}`, inline, next)
    } else if (word.length > 1 && word.startsWith('-')) {
      const name = byShort.get(word[1])
      if (!name) throw unknownOption(command, word, specs)
      const glued = word.length > 2 ? word.slice(2).replace(/^=/, '') : undefined
      take(name, `-${word[1]}`, glued, next)
    } else rest.push(word)
  }
  if (!values['help']) {
    const instead = command.dataOption !== undefined && values[command.dataOption] !== undefined ? 1 : 0
    const [least, most] = command.count.map(count => count - instead)
    if (rest.length < least || rest.length > most) {
      const found = rest.length === 0 ? 'none' : rest.map(r => `"${r}"`).join(' ')
      throw new UsageError(`spillway ${command.name} takes ${command.takes}; got ${found}`, seeHelp(command))
    }
  }
  return { arguments: rest, options: values }
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

const seeHelp = (command: Command): string => `spillway ${command.name} --help shows every option`

function unknownOption(command: Command, spelling: string, specs: Record<string, OptionSpec>): UsageError {
  const near = Object.keys(specs)
    .map(name => ({ name, distance: editDistance(name, spelling.replace(/^-+/, '')) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)[0]
  const guess = near ? `; did you mean --${near.name}?` : ''
  return new UsageError(`spillway ${command.name} has no option ${spelling}${guess}`, seeHelp(command))
}

export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    previous = row
  }
  return previous[b.length]
}

// --- Reading option values

export function textOption(options: OptionValues, name: string): string | undefined {
  return options[name] as string | undefined
}

/** A number within bounds, or undefined when the option was not given. */
export function numberOption(
  options: OptionValues,
  name: string,
  { above = -Infinity, least = -Infinity, most = Infinity, whole = false } = {},
): number | undefined {
  const text = options[name] as string | undefined
  if (text === undefined) return undefined
  const value = Number(text)
  const fits = text.trim() !== '' && Number.isFinite(value) && value > above && value >= least && value <= most
  if (!fits || (whole && !Number.isInteger(value))) {
    const kind = whole ? 'a whole number' : 'a number'
    const bounds = [
      above > -Infinity ? `above ${above}` : '',
      least > -Infinity ? `of at least ${least}` : '',
      most < Infinity ? `of at most ${most}` : '',
    ].filter(Boolean)
    throw new UsageError(`--${name} is "${text}"; expected ${kind}${bounds.length ? ` ${bounds.join(' and ')}` : ''}`)
  }
  return value
}

/** Memory, written as 512M, 2G, 1.5GiB. */
export function memoryOption(options: OptionValues): number | undefined {
  const text = options['memory'] as string | undefined
  return text === undefined ? undefined : parseMemory(text, '--memory')
}

/** Bytes written as 4096, 64K, 512M, 2G, 1.5GiB. */
export function bytesOption(options: OptionValues, name: string): number | undefined {
  const text = options[name] as string | undefined
  return text === undefined ? undefined : parseBytes(text, `--${name}`)
}
