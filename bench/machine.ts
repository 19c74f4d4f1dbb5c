// What the figures were made on: a time means nothing without it.
import { execFile } from 'node:child_process'
import { cpus, loadavg, release, type as system, totalmem } from 'node:os'
import { promisify } from 'node:util'
import { liblinear } from './peers/liblinear.ts'
import { spillway } from './peers/spillway.ts'

const run = promisify(execFile)

export interface Machine {
  date: string
  cores: number
  processor: string
  memoryBytes: number
  system: string
  node: string
  spillway?: string
  /** Whether the compiled program was measured, or, slower to start, its TypeScript sources. */
  spillwayBuild?: 'dist' | 'sources'
  /** The commit of the sources, with "+" when files have been changed since. */
  commit?: string
  liblinear?: string
  /** Over 1, 5 and 15 minutes, before anything was run. */
  loadAverage: number[]
}

export async function describeMachine(): Promise<Machine> {
  // First, for the commands below add to the load.
  const load = loadavg().map(value => Number(value.toFixed(2)))
  const git = (...words: string[]): Promise<string | undefined> =>
    run('git', words, { cwd: import.meta.dirname }).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    )
  // Another build's commit is not known here.
  const commit = process.env['SPILLWAY_PROGRAM'] ? undefined : await git('rev-parse', '--short', 'HEAD')
  const changed = await git('status', '--porcelain', '--untracked-files=no')
  return {
    date: new Date().toISOString(),
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryBytes: totalmem(),
    system: `${system()} ${release()}`,
    node: process.version,
    spillway: await spillway.version(),
    spillwayBuild: await spillway.build(),
    commit: commit && `${commit}${changed ? '+' : ''}`,
    liblinear: await liblinear.version(),
    loadAverage: load,
  }
}
