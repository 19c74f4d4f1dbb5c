// The page that --help prints: an option and its text in two columns, everything wrapped to the width of the terminal.
import { type Command, HELP, type OptionSpec } from './command.ts'

/** Columns of a terminal that are made use of; and how many are taken for granted where there is none. */
const LEAST_COLUMNS = 60
const MOST_COLUMNS = 120
const USUAL_COLUMNS = 80

/** Columns of the terminal that is written to; `COLUMNS` says them where standard output is none. */
export function terminalColumns(): number {
  const columns = process.stdout.columns ?? Number(process.env['COLUMNS'])
  return columns > 0 ? Math.min(Math.max(columns, LEAST_COLUMNS), MOST_COLUMNS) : USUAL_COLUMNS
}

interface Item {
  left: string
  text: string
}

/** The help of a command, for a terminal so many columns wide. */
export function helpPage(command: Command, summary: string, columns = USUAL_COLUMNS): string {
  const leftMost = columns >= 100 ? 34 : 30
  const entries = Object.entries<OptionSpec>({ ...command.options, help: HELP })
  const items = entries.map(([name, spec]) => optionItem(name, spec, leftMost))
  const width = Math.min(leftMost, Math.max(...items.map(({ left }) => left.length)))
  const groups = new Map<string, string[]>()
  entries.forEach(([, { group = 'Options' }], k) => {
    groups.set(group, [...(groups.get(group) ?? []), ...twoColumns(items[k], width, columns)])
  })
  const examples = command.examples.flatMap(({ line, does }) => [
    exampleText(line, columns),
    ...wrap(`      ${does}`, columns, '      '),
  ])
  return [
    `spillway ${command.name} ${command.takes}`,
    wrap(summary, columns).join('\n'),
    `Example${command.examples.length > 1 ? 's' : ''}:\n${examples.join('\n')}`,
    ...[...groups].map(([group, lines]) => `${group}:\n${lines.join('\n')}`),
    ...(command.notes ? [notesText(command.notes, columns)] : []),
  ].join('\n\n')
}

/** A command line that is too long goes on, as a shell takes it, before an option or an argument. */
function exampleText(line: string, columns: number): string {
  // An option and its value stay together.
  const glued = line.replace(/( --?[\w-]+) (?=[^-\s|])/g, '$1\u00a0')
  return wrap(`  ${glued}`, columns - 2, ' '.repeat(8))
    .join(' \\\n')
    .replaceAll('\u00a0', ' ')
}

/** Few choices stand beside the option, others in its text. */
function optionItem(name: string, spec: OptionSpec, leftMost: number): Item {
  const { short, value, choices, help, fallback } = spec
  const leftOf = (stands: string | undefined): string =>
    `  ${short ? `-${short}, ` : '    '}--${name}${stands ? ` ${stands}` : ''}`
  const beside = leftOf(choices?.join('|') ?? value)
  const apart = choices !== undefined && beside.length > leftMost
  const among = apart ? `; ${value} is one of ${choices.join(', ')}` : ''
  const text = `${help}${among}${fallback ? ` (default: ${fallback})` : ''}`
  return { left: apart ? leftOf(value) : beside, text }
}

/** A name that leaves no room for the text has a line of its own. */
function twoColumns({ left, text }: Item, width: number, columns: number): string[] {
  const indent = ' '.repeat(width + 2)
  const lines = wrap(`${indent}${text}`, columns, indent)
  if (left.length > width) return [left, ...lines]
  return [`${left.padEnd(width)}${lines[0].slice(width)}`, ...lines.slice(1)]
}

/** Paragraphs are wrapped. An indented line is a name and, two blanks or more behind it, its text. */
function notesText(notes: string, columns: number): string {
  const items = notes.split('\n').map(line => /^( {2}\S+) {2,}(\S.*)$/.exec(line))
  const width = Math.min(30, Math.max(0, ...items.map(item => item?.[1].length ?? 0)))
  const lines: string[] = []
  let paragraph: string[] = []
  const endParagraph = (): void => {
    if (paragraph.length > 0) lines.push(...wrap(paragraph.join(' '), columns))
    paragraph = []
  }
  notes.split('\n').forEach((line, k) => {
    const item = items[k]
    if (line !== '' && !item) {
      paragraph.push(line)
      return
    }
    endParagraph()
    lines.push(...(item ? twoColumns({ left: item[1], text: item[2] }, width, columns) : ['']))
  })
  endParagraph()
  return lines.join('\n')
}

/** Lines of at most so many columns, those after the first indented; words are never broken. */
function wrap(text: string, columns: number, indent = ''): string[] {
  const [start] = /^ */.exec(text)!
  const [first = '', ...words] = text.trimStart().split(' ')
  const lines = [`${start}${first}`]
  for (const word of words) {
    const longer = `${lines[lines.length - 1]} ${word}`
    if (longer.length <= columns) lines[lines.length - 1] = longer
    else lines.push(`${indent}${word}`)
  }
  return lines
}
