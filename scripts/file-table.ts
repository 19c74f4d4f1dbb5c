// Makes the table of files in ARCHITECTURE.md from the first sentence of each file: `npm run file-table`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
export const DOCUMENT = join(root, 'ARCHITECTURE.md')
const BEGIN = '<!-- The table of files is made by `npm run file-table`. -->'
const END = '<!-- End of the table of files. -->'
/** Longest line of the document. */
const WIDTH = 120
/** A longer sentence says more than what the file is. */
const LONGEST = 200
const FOLDERS = ['bin', 'scripts', 'src']

/** The first sentence of the comment that a file opens with. A formula ends it too: its line is set off by an empty one. */
export function firstSentence(text: string): string {
  const lines = text.split('\n')
  if (lines[0].startsWith('#!')) lines.shift()
  const opening: string[] = []
  for (const line of lines) {
    if (!line.startsWith('// ')) break
    opening.push(line.slice(3).trim())
  }
  const comment = opening.join(' ')
  // A full stop ends a sentence where a new one begins: "Hsieh et al. (ICML)" and "solver.ts" go on.
  return (comment.match(/^.*?[.](?= +[A-Z`−w]|$)/)?.[0] ?? comment).replace(/[.:,]$/, '')
}

/** Files of the project by folder, as paths from its root; what is made or is no source is left out. */
function sources(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const top of FOLDERS) {
    for (const entry of readdirSync(join(root, top), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.[jt]s$/.test(entry.name)) continue
      const folder = entry.parentPath.slice(root.length).split('\\').join('/').replace(/\/$/, '')
      found.set(folder, [...(found.get(folder) ?? []), `${folder}/${entry.name}`])
    }
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, files]) => [folder, files.sort()]))
}

/** What is wrong with the openings of files, in words. */
export function badOpenings(): string[] {
  return [...sources().values()].flat().flatMap(file => {
    const sentence = firstSentence(readFileSync(join(root, file), 'utf8'))
    if (sentence === '') return [`${file} opens without a comment: its first line must say what the file is`]
    if (sentence.length <= LONGEST) return []
    return [
      `${file} opens with a sentence of ${sentence.length} characters, more than ${LONGEST}: say what the file is`,
    ]
  })
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of text.split(/\s+/)) {
    const last = lines[lines.length - 1]
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

/** The table, a part for each folder: a name, and what the file says that it is. */
export function fileTable(): string {
  const parts = [...sources()].map(([folder, files]) => {
    const column = 4 + Math.max(...files.map(file => basename(file).length))
    const rows = files.flatMap(file => {
      const sentence = firstSentence(readFileSync(join(root, file), 'utf8'))
      return wrap(sentence, WIDTH - column).map((line, i) => `  ${i === 0 ? basename(file) : ''}`.padEnd(column) + line)
    })
    return [`${folder}/`, ...rows].join('\n')
  })
  return `${BEGIN}\n\n\`\`\`\n${parts.join('\n\n')}\n\`\`\`\n\n${END}`
}

/** The document with the table as it should be. */
export function withTable(text: string): string {
  const begin = text.indexOf(BEGIN)
  const end = text.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`${DOCUMENT} has no place for the table: ${BEGIN} … ${END}`)
  return text.slice(0, begin) + fileTable() + text.slice(end + END.length)
}

if (import.meta.main) {
  const bad = badOpenings()
  for (const line of bad) console.error(line)
  if (bad.length > 0) process.exit(1)
  writeFileSync(DOCUMENT, withTable(readFileSync(DOCUMENT, 'utf8')))
}
