// One command, measured from outside: wall clock, processor time and peak memory of the child, whatever it says of itself.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Measured {
  seconds: number
  /** User and system time of all its threads: on a shared machine it tells work from waiting. */
  cpuSeconds: number
  /** Largest resident set; under --limit the group's peak, page cache included. */
  peakMemoryBytes: number
  /** Bytes that the system read from the disk for it: what it asked for, and pages of programs. */
  diskBytes: number
  /** Bytes that it asked the system for, whether they came from the disk or from the page cache; 0 where the system does not tell. */
  askedBytes?: number
  stdout: string
  stderr: string
}

export interface MeasureOptions {
  /** A memory cap such as 2G; the command then runs under `limit`, which counts page cache too. */
  limit?: string
  /** With a limit: the most bytes a second that the command may read from the disk, e.g. 150M. */
  readBps?: string
  /** Seconds after which the command is stopped and counts as failed. */
  timeout?: number
  /** Seconds after which the command is asked to end, as by Ctrl-C: what it has by then counts. */
  interruptAfter?: number
}

const wrapper = fileURLToPath(new URL('./measure-child.py', import.meta.url))
const limitProgram = fileURLToPath(new URL('../../shared/bin/limit', import.meta.url))
const DEFAULT_TIMEOUT = 3600
/** `timeout` ends a command with this code. */
const STOPPED = 124
const KILLED = 137
/** Seconds between the stop of a command under `limit` and that of `limit` itself, which has a group to remove. */
const GRACE = 10
/** What a command that was asked to end exits with, and the seconds that it may take to do so. */
const INTERRUPTED = 130
const FAREWELL = 120

export class CommandFailed extends Error {}

export async function measure(command: string[], options: MeasureOptions = {}): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'spillway-bench-'))
  try {
    const [result, out, err] = ['result', 'out', 'err'].map(name => join(folder, name))
    const timeout = options.timeout ?? DEFAULT_TIMEOUT
    const asked = options.interruptAfter === undefined ? command : interrupted(command, options.interruptAfter)
    const line = options.limit ? limited(asked, options.limit, options.readBps, options.timeout) : asked
    await runPython([wrapper, result, out, err, String(options.limit ? timeout + GRACE : timeout), ...line], line[0])
    const [told, stdout, stderr] = await Promise.all([result, out, err].map(file => readFile(file, 'utf8')))
    const { exit, timedOut, ...figures } = JSON.parse(told) as Measured & { exit: number; timedOut: boolean }
    // Who does not end when asked to is killed, which is not for want of memory.
    const isStopped = exit === STOPPED || (exit === KILLED && figures.seconds >= timeout)
    if (timedOut || (options.limit && options.timeout && isStopped))
      throw new CommandFailed(`stopped after ${timeout} s: ${command.join(' ')}`)
    if (exit !== 0 && !(options.interruptAfter !== undefined && exit === INTERRUPTED)) {
      const last = stderr.trim().split('\n').slice(-3).join('; ')
      const killed = options.limit && exit === KILLED ? `, out of memory under --limit ${options.limit}` : ''
      throw new CommandFailed(`exit code ${exit}${killed}: ${command.join(' ')}${last ? `: ${last}` : ''}`)
    }
    return { ...figures, ...(options.limit && reportOf(stderr)), stdout, stderr }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Whether `limit` is there and allowed to make its group: it needs root. */
export async function canLimit(): Promise<boolean> {
  return measure(['true'], { limit: '64M' }).then(
    () => true,
    () => false,
  )
}

/** Whether `limit` can slow the disk down, too. */
export async function canSlowDisk(): Promise<boolean> {
  return measure(['true'], { limit: '64M', readBps: '150M' }).then(
    () => true,
    () => false,
  )
}

function limited(
  command: string[],
  memory: string,
  readBps: string | undefined,
  timeout: number | undefined,
): string[] {
  return [
    ...[requireLimit(), '--memory', memory, ...(readBps ? ['--read-bps', readBps] : []), '--report', '--'],
    // Stopped from inside, so that `limit` lives to remove its group.
    ...(timeout === undefined ? [] : ['timeout', '-k', '1', String(timeout)]),
    ...command,
  ]
}

function interrupted(command: string[], seconds: number): string[] {
  return ['timeout', '--preserve-status', '--signal', 'INT', '-k', String(FAREWELL), String(seconds), ...command]
}

function requireLimit(): string {
  if (!existsSync(limitProgram)) throw new Error(`--limit needs ../shared/bin/limit beside the project; there is none`)
  return limitProgram
}

/** `limit` times the command itself: setting up and removing its group is not the command's doing. */
function reportOf(stderr: string): { seconds: number; peakMemoryBytes: number } {
  const report = JSON.parse(stderr.trim().split('\n').at(-1)!) as { peakBytes: number; seconds: number }
  return { seconds: report.seconds, peakMemoryBytes: report.peakBytes }
}

/** `-I -S`: nothing of the user's own Python set-up is loaded. */
async function runPython(args: string[], what: string): Promise<void> {
  const child = spawn('python3', ['-I', '-S', ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', data => {
    said += data
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', error =>
      reject(new Error(`python3, which measures peak memory, did not start: ${error.message}`)),
    )
    child.on('close', resolve)
  })
  if (code !== 0) throw new CommandFailed(`could not run ${what}: ${said.trim().split('\n').at(-1)}`)
}

// --- The page cache

/** Reads a file to its end, so that whoever comes first does not pay for the disk. */
export async function warm(file: string): Promise<void> {
  const handle = await open(file)
  const buffer = Buffer.alloc(1 << 20)
  while ((await handle.read(buffer, 0, buffer.length, null)).bytesRead > 0);
  await handle.close()
}

export type ColdMethod = 'drop_caches' | 'fadvise'

/** Throws a file out of the page cache: everything through /proc when root, else that file alone. */
export async function makeCold(file: string): Promise<ColdMethod> {
  await runPython(['-c', 'import os; os.sync()'], 'sync')
  try {
    await writeFile('/proc/sys/vm/drop_caches', '3')
    return 'drop_caches'
  } catch {
    const evict = 'import os, sys; os.posix_fadvise(os.open(sys.argv[1], 0), 0, 0, os.POSIX_FADV_DONTNEED)'
    await runPython(['-c', evict, file], 'posix_fadvise')
    return 'fadvise'
  }
}
