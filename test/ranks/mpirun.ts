// Launchers of MPI that this machine has, for tests that start ranks with them.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Outcome, outcomeOf } from '../cli/run.ts'

export interface Launcher {
  title: string
  /** Why there is none, for tests that are skipped. */
  skip: string | false
  /** Its command, up to the number of ranks. */
  words: string[]
  /** Numbers of ranks that are tried: a rank of MPICH that waits keeps a core busy. */
  sizes: number[]
}

/** A process that hangs is a failure, not a reason to wait for ever. */
const LONGEST = 120_000

export const openMpi = find('Open MPI', ['mpirun.openmpi', 'mpirun'], /Open MPI/, 'openmpi-bin', [1, 2, 3, 4])
openMpi.words.push('--allow-run-as-root', '--oversubscribe', '--bind-to', 'none')
export const mpich = find('MPICH', ['mpirun.mpich', 'mpirun'], /HYDRA/, 'mpich', cpus().length > 1 ? [1, 2] : [1])
export const launchers = [openMpi, mpich]

function find(title: string, names: string[], version: RegExp, install: string, sizes: number[]): Launcher {
  const name = names.find(each => version.test(spawnSync(each, ['--version'], { encoding: 'utf8' }).stdout ?? ''))
  return { title, words: [name ?? names[0]], skip: name ? false : `${title} is not here: install ${install}`, sizes }
}

export const check = fileURLToPath(new URL('communicator-check.ts', import.meta.url))

export interface RanksToStart {
  cwd?: string
  env?: Record<string, string>
  /** Words for the launcher itself. */
  launcherWords?: string[]
}

/** Starts ranks of a program, which Node runs. */
export function startRanks(
  { words: [command, ...words] }: Launcher,
  ranks: number,
  program: string[],
  { cwd, env, launcherWords = [] }: RanksToStart = {},
): { child: ChildProcessWithoutNullStreams; outcome: Promise<Outcome> } {
  // Ranks of Open MPI write to a terminal of their own.
  const settings = { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, NODE_TEST_CONTEXT: undefined, ...env }
  const all = [...words, ...launcherWords, '-n', String(ranks), process.execPath, ...program]
  const child = spawn(command, all, { cwd, env: settings, timeout: LONGEST, killSignal: 'SIGTERM' })
  child.stdin.end()
  return { child, outcome: outcomeOf(child) }
}

export function runRanks(...given: Parameters<typeof startRanks>): Promise<Outcome> {
  return startRanks(...given).outcome
}
