// The process of a run: the same program, started without a shell, in a group of its own, so that it goes on when the studio ends.
// What it prints goes into files: nobody has to be there to read it.
import { type ChildProcess, spawn } from 'node:child_process'
import { relative } from 'node:path'
import { isAtWork, type KnownProcess, processIn, startOf } from '../files/processes.ts'
import { createKept } from './folder.ts'
import { type KeptRun, type RunFolder, runFiles } from './run-folder.ts'
import { optionWords } from './run-options.ts'

/** How a process ended: its exit code or signal, where this studio started it; nobody knows of others. */
export interface Ending {
  code?: number | null
  signal?: NodeJS.Signals | null
}

export interface RunningProcess {
  known: KnownProcess
  ended: Promise<Ending>
  signal(signal: NodeJS.Signals): void
}

export interface ProcessToStart {
  /** Node and the file of the program. */
  program: readonly string[]
  run: KeptRun
  folder: RunFolder
  /** Real paths. */
  data: string
  test: string | undefined
  resume: boolean
}

/** Words of the command line. Names are those from the folder of the run on, where the process works. */
export function wordsOf({ run, folder, data, test, resume }: Omit<ProcessToStart, 'program'>): string[] {
  const from = (path: string): string => relative(folder.path, path)
  return [
    'train',
    ...optionWords(run.options),
    ...(test === undefined ? [] : [`--test=${from(test)}`, '--evaluate']),
    ...(resume ? ['--resume'] : []),
    ...[`--model=${runFiles.model}`, RECORD_WORD, `--report=${runFiles.report}`],
    ...['--json', '--quiet', '--', from(data)],
  ]
}

/** The process of a run that was started, and not written down: the studio was killed in that moment. */
export function unknownProcess(folder: RunFolder): KnownProcess | undefined {
  return processIn(folder.path, ['train', RECORD_WORD])
}

const RECORD_WORD = `--record=${runFiles.records}`

export async function startProcess(to: ProcessToStart): Promise<RunningProcess> {
  const { program, folder } = to
  const [output, errors] = [await createKept(folder.file('output')), await createKept(folder.file('errors'))]
  try {
    const [file, ...words] = [...program, ...wordsOf(to)]
    const child = spawn(file, words, {
      cwd: folder.path,
      stdio: ['ignore', output.fd, errors.fd],
      // A Ctrl-C in the terminal of the studio is for the studio alone, which then ends its run well.
      detached: true,
      windowsHide: true,
    })
    const ended = endOf(child)
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    return {
      known: { pid: child.pid!, start: startOf(child.pid!) },
      ended,
      signal: signal => void child.kill(signal),
    }
  } finally {
    await output.close()
    await errors.close()
  }
}

function endOf(child: ChildProcess): Promise<Ending> {
  return new Promise(resolve => {
    child.once('close', (code, signal) => resolve({ code, signal }))
    // A process that could not be started at all.
    child.once('error', () => resolve({ code: null }))
  })
}

/** How often the system is asked about a process that another studio has started. */
const LOOK_MILLISECONDS = 300

/** The process of a run that another studio has started, which has ended since. */
export function followProcess(known: KnownProcess): RunningProcess {
  const ended = new Promise<Ending>(resolve => {
    const timer = setInterval(() => {
      if (isAtWork(known)) return
      clearInterval(timer)
      resolve({})
    }, LOOK_MILLISECONDS)
  })
  return {
    known,
    ended,
    signal(signal) {
      if (isAtWork(known)) process.kill(known.pid, signal)
    },
  }
}

/** How a run ended, by what its process has printed. */
export async function outcomeOf(
  folder: RunFolder,
  { code, signal }: Ending,
  asked: boolean,
): Promise<Pick<KeptRun, 'state' | 'error' | 'advice' | 'result'>> {
  const result = resultIn(await folder.text('output', MOST_OUTPUT))
  if (result) return { state: result['exitReason'] === 'interrupted' ? 'stopped' : 'done', result }
  const said = complaintIn((await folder.text('errors', MOST_OUTPUT)) ?? '')
  if (asked || code === INTERRUPTED || said?.error.startsWith('interrupted')) return { state: 'stopped' }
  if (said) return { state: 'failed', ...said }
  if (signal) {
    const advice = 'the system may have been short of memory: give the run less, and leave some to other programs'
    return { state: 'failed', error: `the process of the run was ended by ${signal}`, advice }
  }
  if (code === undefined)
    return { state: 'stopped', error: 'the process of the run is gone; it was ended from outside' }
  return { state: 'failed', error: `the process of the run ended with exit code ${code}, and said nothing` }
}

/** Exit code of a run that was told to end. */
const INTERRUPTED = 130
const MOST_OUTPUT = 64 << 20

function resultIn(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const result = JSON.parse(text ?? '') as Record<string, unknown> | null
    return typeof result === 'object' && result !== null ? result : undefined
  } catch {
    return undefined
  }
}

/** From the folder of a run to that of the data: files are called by their names there. */
const FROM_RUN = '../../../'
/** How the program begins what it says of a failure. */
const COMPLAINT = /^spillway: /

/** The sentence of a failure, with its sum where it has one, and what to do about it, which comes last. */
function complaintIn(text: string): { error: string; advice?: string } | undefined {
  const lines = text.split('\n')
  const at = lines.findIndex(line => COMPLAINT.test(line))
  if (at < 0) return undefined
  const more = lines.slice(at + 1)
  const end = more.findIndex(line => !line.startsWith('  '))
  const following = more.slice(0, end < 0 ? more.length : end)
  const advice = following.pop()?.trim().replaceAll(FROM_RUN, '')
  const error = [lines[at].replace(COMPLAINT, ''), ...following].join('\n').replaceAll(FROM_RUN, '')
  return advice ? { error, advice } : { error }
}
