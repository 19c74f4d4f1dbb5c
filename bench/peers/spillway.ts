// Spillway as a user runs it: the built program in a process of its own, Node's start included.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Measured, type MeasureOptions, measure } from '../measure.ts'
import type { Peer, TrainRequest, TrainRun } from './peer.ts'

const run = promisify(execFile)

/** SPILLWAY_PROGRAM names another build, to measure one version beside the next. */
const program = process.env['SPILLWAY_PROGRAM'] ?? fileURLToPath(new URL('../../bin/spillway.js', import.meta.url))
const command = (...words: string[]): string[] => [process.execPath, program, ...words]

/** The reference optimum takes more passes than any user would wait for. */
const MOST_PASSES = 100_000

export interface GenerateRequest {
  like: string
  /** Bytes of text, e.g. 600M; or rows. */
  size: string | { rows: number }
  seed: number
  test: string
  testRows?: number
  /** Another number than the set is known for. */
  features?: number
}

export interface SpillwayTrainRequest extends TrainRequest {
  /** Most passes over the data; left out, as many as the tolerance takes; or as many as the program itself allows. */
  maxPasses?: number | 'its own'
  /** Further words of the command line, e.g. --solver block. */
  words?: string[]
  /** Words of a launcher that stand before the program's own. */
  launcher?: string[]
  /** Let it tell its plan and progress on stderr. */
  talk?: boolean
}

export interface IngestRun extends Measured {
  storeBytes: number
  told?: Record<string, unknown>
}

export const spillway = {
  name: 'Spillway',
  howToInstall: 'npm ci && npm run build',

  /** A command line of it. */
  command,

  /** The shortest thing it can do: what a start costs. */
  versionCommand: command('--version'),

  async version() {
    if (!existsSync(program)) return undefined
    try {
      const { stdout } = await run(process.execPath, [program, '--version'])
      return stdout.trim().replace(/^spillway /, '')
    } catch {
      return undefined
    }
  },

  /** What bin/spillway.js runs: sources when dist/ is missing or older, which makes every start slower. */
  async build(): Promise<'dist' | 'sources'> {
    const root = dirname(dirname(program))
    const changed = async (name: string): Promise<number> =>
      (await stat(join(root, name)).catch(() => undefined))?.mtimeMs ?? 0
    const built = Math.min(await changed('dist/main.js'), await changed('dist/numeric.wasm'))
    if (built === 0) return 'sources'
    const names = await readdir(join(root, 'src'), { recursive: true }).catch(() => [])
    for (const name of names.filter(name => /\.(ts|wasm)$/.test(name) && !name.includes('assembly'))) {
      if ((await changed(join('src', name))) > built) return 'sources'
    }
    return 'dist'
  },

  /** Whether the program has a command: suites are older than some commands and younger than others. */
  async has(name: string): Promise<boolean> {
    return run(process.execPath, [program, name, '--help']).then(
      () => true,
      () => false,
    )
  },

  /** What the help of a command says, empty when there is no such command: solvers and options are detected by it. */
  async help(name: string): Promise<string> {
    return run(process.execPath, [program, name, '--help']).then(
      ({ stdout }) => stdout,
      () => '',
    )
  },

  async train(data: string, request: SpillwayTrainRequest, options?: MeasureOptions): Promise<TrainRun> {
    // An old model in its place would be one more thing to read.
    await rm(request.model, { force: true })
    const measured = await measure(
      [
        ...(request.launcher ?? []),
        ...command(),
        ...['train', data, request.model, '--loss', request.loss, '--cost', String(request.cost)],
        ...(request.bias ? ['--bias', String(request.bias)] : []),
        ...(request.stop === undefined ? [] : ['--tolerance', String(request.stop)]),
        ...(request.maxPasses === 'its own' ? [] : ['--max-passes', String(request.maxPasses ?? MOST_PASSES)]),
        '--json',
        ...(request.talk ? ['--verbose'] : ['--quiet']),
        ...(request.words ?? []),
      ],
      options,
    )
    const told = lastJson(measured.stdout)
    return { ...measured, modelFile: request.model, dual: told['dual'] as number | undefined, told }
  },

  predict: (data, model, out, options) => measure(command('predict', data, model, out, '--json', '--quiet'), options),

  async asLiblinear(model: string): Promise<string> {
    const out = `${model}.liblinear`
    await run(process.execPath, [program, 'convert', model, out, '--to', 'liblinear'])
    return out
  },

  async ingest(
    data: string,
    store: string,
    { words = [], ...options }: MeasureOptions & { words?: string[] } = {},
  ): Promise<IngestRun> {
    await rm(store, { recursive: true, force: true })
    const measured = await measure(command('ingest', data, store, '--json', '--quiet', ...words), options)
    return { ...measured, storeBytes: await folderBytes(store), told: lastJson(measured.stdout) }
  },

  async generate(out: string, { like, size, seed, test, testRows, features }: GenerateRequest): Promise<void> {
    const rows = testRows ? ['--test-rows', String(testRows)] : []
    const much = typeof size === 'string' ? ['--size', size] : ['--rows', String(size.rows)]
    const wide = features ? ['--features', String(features)] : []
    const words = ['generate', out, '--like', like, ...much, ...wide, '--seed', String(seed), '--test', test, ...rows]
    await run(process.execPath, [program, ...words, '--quiet'])
  },
} satisfies Peer & Record<string, unknown>

/** The line that --json prints: the last one on standard output. */
function lastJson(stdout: string): Record<string, unknown> {
  const line = stdout.trim().split('\n').at(-1) ?? ''
  try {
    return JSON.parse(line)
  } catch {
    throw new Error(`expected a line of JSON at the end of spillway's output, got "${line.slice(0, 200)}"`)
  }
}

async function folderBytes(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size
  }
  return bytes
}
