// spillway serve: a model behind HTTP, until it is told to stop.
import { randomBytes } from 'node:crypto'
import { UsageError } from '../errors.ts'
import { formatCount } from '../sizes.ts'
import { bytesOption, type Command, type CommandInput, numberOption, textOption } from './command.ts'
import { print } from './print.ts'

export const serveCommand: Command = {
  name: 'serve',
  takes: 'MODEL',
  count: [1, 1],
  options: {
    port: { value: 'N', help: 'the port to listen on; 0 takes one that is free', fallback: '8787', group: 'Where' },
    host: {
      value: 'NAME',
      help: 'the address to listen on; one that others reach needs a token',
      fallback: '127.0.0.1, which this machine alone reaches',
      group: 'Where',
    },
    token: {
      value: 'TEXT',
      help: 'what requests have to bring: Authorization: Bearer TEXT',
      fallback: 'SPILLWAY_TOKEN, or one is made and printed where it is needed',
      group: 'Where',
    },
    'max-body': {
      value: 'SIZE',
      help: 'the longest body of JSON, and the longest line of a stream',
      fallback: '16M',
      group: 'Limits',
    },
    'max-rows': { value: 'N', help: 'the most rows of one body of JSON', fallback: '100000', group: 'Limits' },
    timeout: { value: 'SECONDS', help: 'for a body to come, and for silence', fallback: '30', group: 'Limits' },
    quiet: { short: 'q', help: 'print the address alone', group: 'Output' },
  },
  examples: [
    {
      line: 'spillway serve reviews.svm.model',
      does: 'answers on http://127.0.0.1:8787, and reads the model again when its file changes',
    },
    {
      line: 'spillway serve reviews.svm.model --host 0.0.0.0 --port 80',
      does: 'the same for other machines; the token that they need is printed',
    },
  ],
  notes:
    'POST /predict takes a row or rows as JSON ({"3": 0.5, "17": 1}), lines of JSON, or lines as in the data that the model was\n' +
    'trained on. GET /health, /metrics and /openapi.json tell of the server. docs/serve.md has all of it. Ctrl-C and SIGTERM end\n' +
    'it when the requests under way are answered.',
  run: runServe,
}

async function runServe({ arguments: [path], options, signal }: CommandInput): Promise<number> {
  const { PredictionServer, serveDefaults } = await import('../serve/server.ts')
  const { isLoopback } = await import('../serve/access.ts')
  const quiet = options['quiet'] === true
  const say = (text: string): void => {
    if (!quiet) process.stderr.write(`${text}\n`)
  }
  const host = textOption(options, 'host') ?? serveDefaults.host
  const given = textOption(options, 'token') ?? process.env['SPILLWAY_TOKEN']
  if (given !== undefined && !/^[\x21-\x7e]{8,}$/.test(given)) {
    throw new UsageError('the token has blanks or fewer than 8 characters', 'leave it out: one is made and printed')
  }
  const token = given ?? (isLoopback(host) ? undefined : randomBytes(24).toString('base64url'))
  const server = await PredictionServer.start(path, {
    host,
    token,
    port: numberOption(options, 'port', { least: 0, most: 65535, whole: true }),
    mostBytes: bytesOption(options, 'max-body'),
    mostRows: numberOption(options, 'max-rows', { least: 1, whole: true }),
    seconds: numberOption(options, 'timeout', { above: 0, most: 86_400 }),
    say,
  })
  const { labels, features } = server.model
  say(`${path}: ${labels.length} labels, ${formatCount(features)} features; Ctrl-C ends the server`)
  if (token !== undefined && given === undefined) say(`token: ${token}`)
  await print(server.url)
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  await server.stop()
  return 0
}
