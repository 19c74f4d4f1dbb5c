// spillway studio: a page on this machine to look at data, to train and to watch, until it is told to stop.
import { realpath } from 'node:fs/promises'
import { type Command, type CommandInput, numberOption } from './command.ts'
import { print } from './print.ts'

export const studioCommand: Command = {
  name: 'studio',
  takes: '[FOLDER]',
  count: [0, 1],
  options: {
    port: { value: 'N', help: 'the port to listen on; 0 takes one that is free', fallback: '8788', group: 'Where' },
    'no-open': { help: 'print the address, and open no browser', group: 'Where' },
    quiet: { short: 'q', help: 'print the address alone', group: 'Output' },
  },
  examples: [
    { line: 'spillway studio', does: 'opens a page in the browser for the data of this folder' },
    {
      line: 'spillway studio reviews --port 0 --no-open',
      does: 'prints the address of a page for the folder reviews, at a port that is free',
    },
  ],
  notes:
    'The page shows the data of FOLDER, plans and starts runs, and follows them. It is heard on this machine alone, and by those who\n' +
    'have the address that is printed, for it has a token in it. Runs are kept in FOLDER/.spillway. One is at work at a time, and\n' +
    'the others wait. A run goes on when the page is closed. Ctrl-C ends the studio, and stops its run with a checkpoint: the page\n' +
    'of the next studio can resume it. docs/studio.md tells more.',
  run: runStudio,
}

async function runStudio({ arguments: [folder = '.'], options, signal }: CommandInput): Promise<number> {
  const { StudioServer } = await import('../studio/server.ts')
  const { openPage } = await import('../studio/open-page.ts')
  const quiet = options['quiet'] === true
  const say = (text: string): void => {
    if (!quiet) process.stderr.write(`${text}\n`)
  }
  const server = await StudioServer.start(folder, {
    port: numberOption(options, 'port', { least: 0, most: 65535, whole: true }),
    // Runs are started by the very program that this is.
    program: [process.execPath, await realpath(process.argv[1])],
    say,
  })
  say(`the studio of ${server.folder.path}; Ctrl-C ends it`)
  await print(server.url)
  const close = options['no-open'] === true ? undefined : await openPage(server.folder.path, server.url)
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  await close?.()
  await server.stop()
  return 0
}
