// A function fits on a screen and takes a few parameters, or one object. The compiled loops are outside: a loop there has all its
// cases in one place.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

const root = new URL('../../', import.meta.url)

const MOST_LINES = 60
const MOST_PARAMETERS = 5

/** What was larger before this was looked at, with its lines or its parameters. The numbers may only become smaller. */
const longer: Record<string, number> = {
  'block-store/add.ts: addRows': 87,
  'block-store/add.ts: a function': 71,
  'block-store/ingest.ts: ingestFiles': 77,
  'block-store/load-block-task.ts: loadBlock': 67,
  'block-store/load-store.ts: loadStore': 73,
  'block-store/read-into-blocks.ts: readIntoBlocks': 89,
  'block-store/remove.ts: removeRows': 110,
  'block-store/remove.ts: a function': 98,
  'block-store/split-blocks.ts: splitBlocks': 69,
  'block-store/split-blocks.ts: a function': 65,
  'input-formats/byte-source.ts: openStream': 71,
}
const withMore: Record<string, number> = {
  'block-store/load-store.ts: loadStore': 6,
  'model/calibration.ts: classProbabilities': 6,
  'model/json-file.ts: pairs': 7,
  'rows/load-rows.ts: loadRows': 7,
}

interface FunctionSize {
  name: string
  lines: number
  parameters: number
}

/** The text with its comments, texts and patterns blanked, each character in its place. */
function codeOf(text: string): string {
  const others =
    /\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<=(?:[(=,:?&|]|return)\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g
  return text.replace(others, found => found.replace(/[^\n]/g, '0'))
}

const CLOSING: Record<string, string> = { '(': ')', '{': '}', '[': ']', '<': '>' }

/** Where the bracket at a place is closed. An arrow closes nothing. */
function closeOf(code: string, open: number): number {
  const angles = code[open] === '<'
  const stack = [CLOSING[code[open]]]
  for (let at = open + 1; at < code.length; at++) {
    const c = code[at]
    if (c === stack[stack.length - 1] && !(c === '>' && code[at - 1] === '=')) stack.pop()
    else if ('({['.includes(c) || (c === '<' && angles)) stack.push(CLOSING[c])
    if (stack.length === 0) return at
  }
  return code.length
}

/** Where the body of a function begins whose list of parameters ends here; −1 when this is no function with a body in braces. */
function bodyAfter(code: string, close: number): number {
  let at = close + 1
  const skipBlanks = (): void => {
    while (/\s/.test(code[at] ?? '')) at++
  }
  skipBlanks()
  if (code[at] === ':') {
    // A type: a brace that follows a whole type is the body.
    let whole = false
    for (at++; at < code.length; at++) {
      const c = code[at]
      if (code.startsWith('=>', at)) break
      if (c === '{' && whole) return at
      if (c === '\n' && whole) return -1
      if (';,)'.includes(c)) return -1
      if ('({[<'.includes(c)) at = closeOf(code, at)
      if (!/\s/.test(c)) whole = !'|&?:.'.includes(c)
    }
  }
  if (code.startsWith('=>', at)) {
    at += 2
    skipBlanks()
  }
  return code[at] === '{' ? at : -1
}

/** Parameters between two brackets. */
function countParameters(code: string, open: number, close: number): number {
  let count = 0
  let some = false
  for (let at = open + 1; at < close; at++) {
    if ('({['.includes(code[at]) || (code[at] === '<' && /\w/.test(code[at - 1]))) at = closeOf(code, at)
    if (code[at] === ',') [count, some] = [count + 1, false]
    else if (/\S/.test(code[at])) some = true
  }
  return count + (some ? 1 : 0)
}

const CONTROL = /\b(if|for|while|switch|catch|await|return|super)\s*$/

function functionsOf(text: string): FunctionSize[] {
  const code = codeOf(text)
  const lineOf = (at: number): number => code.slice(0, at).split('\n').length
  const found: FunctionSize[] = []
  for (let open = code.indexOf('('); open >= 0; open = code.indexOf('(', open + 1)) {
    const before = code.slice(Math.max(0, open - 120), open)
    if (CONTROL.test(before)) continue
    const close = closeOf(code, open)
    const body = bodyAfter(code, close)
    if (body < 0) continue
    const name = /([\w#$]+)(?:<[^()]*>)?\s*(?:=\s*(?:async\s*)?|:\s*(?:async\s*)?|)$/.exec(before)?.[1]
    const lines = lineOf(closeOf(code, body)) - lineOf(open) + 1
    found.push({
      name: name && name !== 'async' ? name : 'a function',
      lines,
      parameters: countParameters(code, open, close),
    })
  }
  return found
}

/** Sizes beyond a limit, by file and name. */
function beyond(what: 'lines' | 'parameters', most: number): Record<string, number> {
  const found: Record<string, number> = {}
  for (const path of globSync('src/**/*.ts', { cwd: root }).map(path => path.replaceAll('\\', '/'))) {
    if (path.startsWith('src/numeric/assembly/')) continue
    for (const one of functionsOf(readFileSync(new URL(path, root), 'utf8'))) {
      const name = `${path.slice('src/'.length)}: ${one.name}`
      if (one[what] > most) found[name] = Math.max(one[what], found[name] ?? 0)
    }
  }
  return found
}

/** Fails for what is beyond a limit, but for those that are allowed to be, and for those that need not be any more. */
function check(sizes: Record<string, number>, allowed: Record<string, number>, advice: string): void {
  const wrong = Object.entries(sizes).filter(([name, size]) => size > (allowed[name] ?? 0))
  assert.deepEqual(wrong, [], advice)
  assert.deepEqual(
    Object.keys(allowed).filter(name => !(name in sizes)),
    [],
    'it is small enough by now: take it off the list',
  )
}

describe('functions', () => {
  it('fit on a screen', () => {
    check(beyond('lines', MOST_LINES), longer, 'give a part of it a name of its own')
  })

  it('take a few parameters, or one object', () => {
    check(beyond('parameters', MOST_PARAMETERS), withMore, 'make one object of what goes together')
  })

  it('are found, with their sizes', () => {
    const text = `
export async function first<T>(a: number, { b, c }: { b: T; c: () => void } = d, ...e: Map<string, number>[]): Promise<{
  f: number
}> {
  if (g(a)) {
    return '{'
  }
}
class H {
  #second(): void {
    const third = (a: string, b: string): boolean => {
      return /[{(]/.test(a)
    }
  }
}
interface I {
  none(a: string): void
}`
    assert.deepEqual(functionsOf(text), [
      { name: 'first', lines: 7, parameters: 3 },
      { name: '#second', lines: 5, parameters: 0 },
      { name: 'third', lines: 3, parameters: 2 },
    ])
  })
})
