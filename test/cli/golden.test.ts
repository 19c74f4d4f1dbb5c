// Golden command lines, as data: every entry of golden/*.json makes its files, runs its command, and compares the exit
// code, both outputs, and the files that are there afterwards.
//
// A text is written as its lines. {time}, {rate}, {number} and {any} stand for what may differ. `before` are commands that
// must succeed first. `made` are the new files (`STORE/*` for all in one folder); files that were there must keep their
// bytes unless `changed` names them. `"bound": true` runs without the right of root to write into a read-only folder.
// SPILLWAY_RECORD=1 prints what each entry got, to paste after a look.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { assertPlainWords, bound, filesIn, inFolder, isQuiet, run } from './run.ts'

type Text = string | string[]
type Content = Text | { gzip: Text; cut?: number } | { zstd: Text } | { folder: true } | { readOnlyFolder: true }

interface Entry {
  name: string
  files?: Record<string, Content>
  before?: string[][]
  command: string[]
  stdin?: Text
  exit: number
  stdout?: Text
  stderr?: Text
  made?: string[]
  changed?: string[]
  bound?: true
}

const folder = fileURLToPath(new URL('golden/', import.meta.url))

const MASKS: Record<string, string> = {
  '{time}': '(?:\\d+(?:\\.\\d+)? s|\\d+:\\d\\d)',
  '{rate}': '\\d+(?:\\.\\d+)? (?:B|KiB|MiB|GiB)/s',
  '{number}': '-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?',
  '{any}': '.*',
}

const asText = (text: Text): string => (typeof text === 'string' ? text : text.map(line => `${line}\n`).join(''))

function assertText(found: string, expected: Text | undefined, what: string): void {
  const text = asText(expected ?? '')
  const pattern = text
    .split(/(\{[a-z]+\})/)
    .map(part => MASKS[part] ?? part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('')
  // The texts are compared rather than the pattern, so that a failure shows a difference of texts.
  if (!new RegExp(`^${pattern}$`).test(found)) assert.equal(found, text, what)
}

function makeFiles(at: string, files: Entry['files']): void {
  for (const [name, content] of Object.entries(files ?? {})) {
    const path = join(at, name)
    mkdirSync(dirname(path), { recursive: true })
    if (typeof content === 'string' || Array.isArray(content)) writeFileSync(path, asText(content))
    else if ('gzip' in content) writeFileSync(path, gzipSync(asText(content.gzip)).subarray(0, content.cut))
    else if ('zstd' in content) writeFileSync(path, zstdCompressSync(asText(content.zstd)))
    else {
      mkdirSync(path)
      if ('readOnlyFolder' in content) chmodSync(path, 0o555)
    }
  }
}

/** Files under `STORE/*` as one entry. */
function foldStores(found: string[], expected: string[]): string[] {
  const stores = expected.filter(name => name.endsWith('/*')).map(name => name.slice(0, -1))
  const folded = found.map(name => {
    const store = stores.find(prefix => name.startsWith(prefix))
    return store ? `${store}*` : name
  })
  return [...new Set(folded)].sort()
}

const prepared = new Map<string, Promise<[string, Buffer][]>>()

/** Runs the commands that come before, once for the same commands on the same files; puts down what they made. */
async function prepare(at: string, { files, before = [] }: Entry): Promise<void> {
  const used = Object.entries(files ?? {}).filter(([name]) => before.flat().includes(name))
  const key = JSON.stringify([used, before])
  if (!prepared.has(key)) prepared.set(key, prepareOnce(Object.fromEntries(used), before))
  for (const [name, bytes] of await prepared.get(key)!) {
    mkdirSync(dirname(join(at, name)), { recursive: true })
    writeFileSync(join(at, name), bytes)
  }
}

function prepareOnce(files: Entry['files'], before: string[][]): Promise<[string, Buffer][]> {
  return inFolder(async at => {
    makeFiles(at, files)
    for (const words of before) {
      const { status, stderr } = await run(words, { cwd: at })
      assert.equal(status, 0, `before: spillway ${words.join(' ')}: ${stderr}`)
    }
    return filesIn(at).map(name => [name, readFileSync(join(at, name))])
  })
}

async function check(entry: Entry, at: string): Promise<void> {
  makeFiles(at, entry.files)
  if (entry.before) await prepare(at, entry)
  const there = filesIn(at)
  const bytes = new Map(there.map(name => [name, readFileSync(join(at, name))]))
  const { status, stdout, stderr } = await run(entry.command, {
    cwd: at,
    ...(entry.stdin !== undefined && { stdin: asText(entry.stdin) }),
    ...(entry.bound && { bound: true }),
  })
  if (process.env['SPILLWAY_RECORD']) console.log(JSON.stringify({ name: entry.name, exit: status, stdout, stderr }))
  assertPlainWords(stderr)
  // Which solver suits depends on the machine's memory; a quiet run does not tell.
  const lasting = isQuiet(entry.command) ? stderr : stderr.replace(/^solver [a-z-]+: .*\n/, '')
  assertText(lasting, entry.stderr, 'standard error')
  assertText(stdout, entry.stdout, 'standard output')
  assert.equal(status, entry.exit, 'exit code')
  const after = filesIn(at)
  const made = entry.made ?? []
  const added = after.filter(name => !bytes.has(name))
  assert.deepEqual(foldStores(added, made), [...made].sort(), 'new files')
  for (const name of there) {
    const same = after.includes(name) && bytes.get(name)!.equals(readFileSync(join(at, name)))
    assert.equal(same, !entry.changed?.includes(name), `${name} ${same ? 'kept its bytes' : 'changed'}`)
  }
}

for (const file of readdirSync(folder).sort()) {
  const entries = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Entry[]
  describe(`golden ${file.replace('.json', '')}`, { concurrency: 3 }, () => {
    for (const entry of entries) {
      it(entry.name, { skip: entry.bound ? bound().skip : false }, () => inFolder(at => check(entry, at)))
    }
  })
}
