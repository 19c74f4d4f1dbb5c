// The command line: finds the command, parses its options, words its failures, and turns Ctrl-C into an abort.
import { ReaderLeft, SpillwayError, UsageError } from '../errors.ts'
import { hearStandardErrors } from '../files/standard-output.ts'
import { version } from '../version.ts'
import { allCommands } from './all-commands.ts'
import { type Command, editDistance, parseArguments } from './command.ts'
import { print } from './print.ts'

/** Runs a command line; the exit code: 0 done, 1 a failure, 2 wrong usage, 130 interrupted. */
export async function main(words: string[]): Promise<number> {
  // Progress and messages that nobody can read do not end the work; what was asked for is written by `print`, which tells.
  hearStandardErrors()
  const [name, ...rest] = words
  try {
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
      await print(name === 'help' && rest[0] ? await helpOf(rest[0]) : overview())
      return name === undefined ? 2 : 0
    }
    if (name === '--version' || name === '-V') {
      await print(`spillway ${version}`)
      return 0
    }
    const command = await findCommand(name)
    const { arguments: given, options } = parseArguments(command, command.rewrite?.(rest) ?? rest)
    if (options['help']) {
      await print(await helpOf(name))
      return 0
    }
    const { isSmallText } = await import('../input-formats/text-size.ts')
    if (!(await isSmallText(given))) optimiseAtOnce()
    return await withInterrupts(signal => command.run({ arguments: given, options, signal }))
  } catch (error) {
    return explain(error)
  }
}

/** The first Ctrl-C asks the command to end well, the second ends it. */
async function withInterrupts(run: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const controller = new AbortController()
  const interrupt = (): void => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
    process.stderr.write('\ninterrupted: ending after the current step (Ctrl-C again to end at once)\n')
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

/** One clear error; a stack trace only for what must be a defect of the program itself. */
function explain(error: unknown): number {
  // A reader that goes away (`spillway predict … | head`) has what it wanted.
  if (error instanceof ReaderLeft) return error.exitCode
  if (error instanceof SpillwayError) {
    process.stderr.write(`spillway: ${error.message}\n`)
    if (error.advice) process.stderr.write(`  ${error.advice}\n`)
    return error.exitCode
  }
  if (error instanceof Error && error.name === 'AbortError') {
    process.stderr.write('spillway: interrupted\n')
    return 130
  }
  const shown = error instanceof Error ? error.message : String(error)
  process.stderr.write(`spillway: this should not have happened: ${shown}\n`)
  process.stderr.write('  it is a defect of the program; SPILLWAY_DEBUG=1 shows where\n')
  if (process.env['SPILLWAY_DEBUG'] && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return 1
}
