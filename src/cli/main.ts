// The command line: finds the command, parses its options, words its failures, and turns Ctrl-C into an abort.
import { ReaderLeft, SpillwayError, UsageError, wordsOf } from '../errors.ts'
import { hearStandardErrors } from '../files/standard-output.ts'
import type { Launch } from '../ranks/launcher.ts'
import { version } from '../version.ts'
import { allCommands } from './all-commands.ts'
import { type Command, editDistance, memoryOption, type OptionValues, parseArguments } from './command.ts'
import type { Job } from './over-ranks.ts'
import { print } from './print.ts'

/** Whether this is not dist/. */
const IS_SOURCE = import.meta.url.endsWith('.ts')

/** Runs a command line; the exit code: 0 done, 1 a failure, 2 wrong usage, 130 interrupted. */
export async function main(words: string[]): Promise<number> {
  // Progress and messages that nobody can read do not end the work; what was asked for is written by `print`, which tells.
  hearStandardErrors()
  const launch = await launchOf()
  if (!launch) return runWords(words).catch(error => explain(error))
  const { Job } = await import('./over-ranks.ts')
  const job = new Job(launch)
  try {
    const exitCode = await runWords(words, job)
    await job.end()
    return exitCode
  } catch (error) {
    return job.fail(error, who => explain(error, who))
  }
}

/** `job`: what this process is one of several of. */
async function runWords([name, ...rest]: string[], job?: Job): Promise<number> {
  // Of what is the same everywhere, one process tells.
  const isSilent = job !== undefined && job.launch.rank > 0
  const tell = async (text: () => string | Promise<string>): Promise<void> => {
    if (!isSilent) await print(await text())
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    await tell(() => (name === 'help' && rest[0] ? helpOf(rest[0]) : overview()))
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-V') {
    await tell(() => `spillway ${version}`)
    return 0
  }
  const command = await findCommand(name)
  const { arguments: given, options } = parseArguments(command, command.rewrite?.(rest) ?? rest)
  if (options['help']) {
    await tell(() => helpOf(name))
    return 0
  }
  await requireRoom(command, options)
  if (IS_SOURCE && options['memory'] !== undefined) {
    const { requireRoomForSources } = await import('./from-sources.ts')
    requireRoomForSources(memoryOption(options))
  }
  const ranks = await job?.join(command, given, options)
  // Now it is known how many processes share the machine.
  if (ranks) await requireRoom(command, options)
  if (isSilent) options['quiet'] = true
  const { nudgeFileThreads } = await import('../files/nudge-threads.ts')
  nudgeFileThreads()
  const { isSmallText } = await import('../input-formats/text-size.ts')
  if (!(await isSmallText(given))) optimiseAtOnce()
  const input = { arguments: given, options, words: [name, ...rest], ...(ranks && { ranks }) }
  const told = job === undefined ? 'interrupted' : `${job.launch.launcher} asks to end`
  return await withInterrupts(signal => command.run({ ...input, signal }), isSilent ? undefined : told)
}

/** Refuses a memory that the container does not have. */
async function requireRoom({ asksAboutMemory }: Command, options: OptionValues): Promise<void> {
  if (options['memory'] === undefined || asksAboutMemory) return
  const { requireRoomInContainer } = await import('./room-in-container.ts')
  requireRoomInContainer(memoryOption(options))
}

/** Variables by which launchers say how many processes they have started. */
const LAUNCHERS_SAY = ['OMPI_COMM_WORLD_SIZE', 'PMI_SIZE', 'SLURM_STEP_NUM_TASKS']

/** What has started this process as one of several. */
async function launchOf(): Promise<Launch | undefined> {
  if (!LAUNCHERS_SAY.some(name => process.env[name] !== undefined)) return undefined
  const { noticeLaunch } = await import('../ranks/launcher.ts')
  return noticeLaunch()
}

/** The first Ctrl-C asks the command to end well, the second ends it. What is said begins with what has happened: a launcher asks
 *  its processes to end also when another one of them has failed. */
async function withInterrupts(run: (signal: AbortSignal) => Promise<number>, what?: string): Promise<number> {
  const controller = new AbortController()
  const interrupt = (): void => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
    if (what) process.stderr.write(`\n${what}: ending after the current step (Ctrl-C again to end at once)\n`)
  }
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  try {
    return await run(controller.signal)
  } finally {
    // A pipe that never ends must not keep the process after its run.
    if (controller.signal.aborted) process.stdin.destroy()
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
}

/** The numeric module is small and every loop in it runs long on data of some size: it is optimised at once, not after a slow
 *  first round. Little data is done with sooner. */
function optimiseAtOnce(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--no-liftoff')
}

async function findCommand(name: string): Promise<Command> {
  if (Object.hasOwn(allCommands, name)) return allCommands[name].load()
  const near = Object.keys(allCommands).find(known => editDistance(known, name) <= 2)
  throw new UsageError(
    `there is no command "${name}"${near ? `; did you mean ${near}?` : ''}`,
    'spillway --help lists the commands',
  )
}

async function helpOf(name: string): Promise<string> {
  const { helpPage, terminalColumns } = await import('./help-page.ts')
  return helpPage(await findCommand(name), allCommands[name].summary, terminalColumns())
}

function overview(): string {
  const width = Math.max(...Object.keys(allCommands).map(name => name.length))
  return [
    `spillway ${version}: train linear classifiers on data that may not fit in memory`,
    '',
    'Example:',
    '  spillway train reviews.svm',
    '      trains a support vector machine and writes reviews.svm.model',
    '',
    'Commands:',
    ...Object.entries(allCommands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'spillway COMMAND --help shows the options of a command, with examples.',
  ].join('\n')
}

/** One clear error; a stack trace only for what must be a defect of the program itself. `who` failed, of several. */
function explain(error: unknown, who = ''): number {
  // A reader that goes away (`spillway predict … | head`) has what it wanted.
  if (error instanceof ReaderLeft) return error.exitCode
  if (error instanceof Error && error.name === 'AbortError') {
    process.stderr.write(`spillway: ${who}interrupted\n`)
    return 130
  }
  const { message, advice } = wordsOf(error)
  process.stderr.write(`spillway: ${who}${message}\n`)
  if (advice) process.stderr.write(`  ${advice}\n`)
  if (error instanceof SpillwayError) return error.exitCode
  if (process.env['SPILLWAY_DEBUG'] && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return 1
}
