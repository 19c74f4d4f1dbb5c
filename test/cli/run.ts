// Runs the real program in a folder of its own, for tests that see what a user sees.
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const program = fileURLToPath(new URL('../../bin/spillway.js', import.meta.url))

// Compiled code is kept between runs: hundreds of processes start here.
const cache =
  process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), `spillway-test-compile-cache-${process.getuid?.() ?? 0}`)

export interface Outcome {
  status: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  cwd: string
  /** Standard input; without it there is none. */
  stdin?: string | Uint8Array
  /** Under rights that bind, for folders that must not be written; see `bound`. */
  bound?: boolean
}

/** Root may write everywhere, unless it gives up the right to. The words of the command that does so, none where the tests
 *  run as somebody else; or why there is none. The program stays root's, so that it runs wherever the clone lies. */
export function bound(): { words: string[]; skip: string | false } {
  probed ??= probe()
  return probed
}

let probed: ReturnType<typeof bound> | undefined

function probe(): ReturnType<typeof bound> {
  if (process.getuid?.() !== 0) return { words: [], skip: false }
  const rights = '-dac_override,-dac_read_search'
  const words = ['setpriv', `--inh-caps=${rights}`, `--bounding-set=${rights}`, '--']
  const folder = newFolder()
  try {
    chmodSync(folder, 0o555)
    const trial = [...words, process.execPath, program, 'generate', '--like', 'kddb', '--rows', '1', join(folder, 'x')]
    const { stderr, error } = spawnSync(trial[0], trial.slice(1), { encoding: 'utf8' })
    if (/cannot write .*: permission denied/.test(stderr ?? '')) return { words, skip: false }
    return { words: [], skip: `root cannot give up its right to write everywhere: ${error?.message ?? stderr}` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A run under way: its outcome, and the process to send signals to. */
export function start(
  words: string[],
  { cwd, bound: isBound }: RunOptions,
): { child: ChildProcessWithoutNullStreams; outcome: Promise<Outcome> } {
  const [file, ...rest] = [...(isBound ? bound().words : []), process.execPath, program, ...words]
  const child = spawn(file, rest, { cwd, env: { ...process.env, NODE_COMPILE_CACHE: cache } })
  // A program that ends without reading its input is no failure of the test.
  child.stdin.on('error', () => {})
  return { child, outcome: outcomeOf(child) }
}

/** A run from start to end. Progress is left out of its standard error, but not where it was told to be quiet. */
export async function run(words: string[], options: RunOptions): Promise<Outcome> {
  const { child, outcome } = start(words, options)
  child.stdin.end(options.stdin ?? '')
  const { stderr, ...others } = await outcome
  return { ...others, stderr: isQuiet(words) ? stderr : withoutProgress(stderr) }
}

export const isQuiet = (words: string[]): boolean => words.some(word => word === '-q' || word === '--quiet')

/** Runs a command that must succeed. */
export async function good(words: string[], options: RunOptions): Promise<Outcome> {
  const outcome = await run(words, options)
  assert.equal(outcome.status, 0, `spillway ${words.join(' ')}: ${outcome.stderr}`)
  return outcome
}

/** Runs a line of shell in which `spillway` is the program, for redirections and pipes as a user types them. */
export function shell(line: string, cwd: string): Promise<Outcome> {
  const script = `spillway() { "$NODE" "$PROGRAM" "$@"; }; ${line}`
  const env = { ...process.env, NODE_COMPILE_CACHE: cache, NODE: process.execPath, PROGRAM: program }
  const child = spawn('sh', ['-c', script], { cwd, env })
  child.stdin.end()
  return outcomeOf(child)
}

export function outcomeOf(child: ChildProcessWithoutNullStreams): Promise<Outcome> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', piece => out.push(piece))
  child.stderr.on('data', piece => err.push(piece))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status, signal) => {
      const [stdout, stderr] = [out, err].map(pieces => Buffer.concat(pieces).toString('utf8'))
      resolve({ status, signal, stdout, stderr })
    })
  })
}

/** Waits until the text has appeared on standard error or output. */
export function shows(child: ChildProcessWithoutNullStreams, text: RegExp): Promise<void> {
  let seen = ''
  return new Promise((resolve, reject) => {
    const look = (piece: Buffer): void => {
      seen += piece
      if (text.test(seen)) resolve()
    }
    child.stdout.on('data', look)
    child.stderr.on('data', look)
    child.on('close', () => reject(new Error(`it ended without showing ${text}: ${seen}`)))
  })
}

const PROGRESS = new RegExp(
  [
    String.raw`reading [\d.]+ [KMGT]?i?B\b`,
    String.raw`(class \d+ of \d+, )?pass \d+( \(.*?\))?,`,
    String.raw`[\d,]+( of [\d,]+)? models done,`,
    String.raw`block \d+ (searched|of \d+ written),`,
  ]
    .map(start => `^${start}.*\n`)
    .join('|'),
  'gm',
)

/** Without the lines that only a run of seconds shows: on a busy machine any run may be one. */
export const withoutProgress = (stderr: string): string => stderr.replace(PROGRESS, '')

/** No stack trace, no admission of a defect. */
export function assertPlainWords(stderr: string): void {
  assert.doesNotMatch(stderr, /^\s+at .*[:(]\d+/m)
  assert.doesNotMatch(stderr, /should not have happened/)
  assert.doesNotMatch(stderr, /node:internal|UnhandledPromise|\[object Object\]|undefined|NaN/)
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'spillway-cli-'))
}

/** Runs a test in a folder that goes away with it. */
export async function inFolder<T>(test: (folder: string) => Promise<T>): Promise<T> {
  const folder = newFolder()
  try {
    return await test(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Every file of a folder, those of its folders too, hidden and temporary ones included. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}
