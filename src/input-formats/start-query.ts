// Has a query run in a process of its own, which puts its rows into a file.
import type { ChildProcess } from 'node:child_process'
import { SpillwayError } from '../errors.ts'
import type { ByteCount } from '../sizes.ts'

export interface QueryToRun {
  sql: string
  /** Where the rows go. */
  file: string
  /** What DuckDB may take. */
  memory: ByteCount
  threads: number
  /** A folder for what does not fit in that. */
  temporary: string
}

export interface QueryAnswer {
  /** What is wrong with the query. */
  refused?: { message: string; advice: string | undefined; exitCode: number }
  /** What is wrong with the program. */
  failed?: string
}

export async function startQuery(query: QueryToRun, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  // Loaded late: most runs do without it.
  const { fork } = process.getBuiltinModule('node:child_process')
  // Beside this file: query-process.ts among the sources, query-process.js in dist/.
  const script = new URL(import.meta.url.replace(/[^/]+\.(ts|js)$/, 'query-process.$1'))
  const child = fork(script, { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const stop = (): void => void child.kill('SIGKILL')
  signal?.addEventListener('abort', stop)
  try {
    const { answer, how } = await outcomeOf(child, query)
    signal?.throwIfAborted()
    if (!answer) {
      throw new SpillwayError(
        `the query cannot be run: DuckDB ended (${how})`,
        'was there too little memory? Give it more --memory, or sort and join less in the query',
      )
    }
    if (answer.failed !== undefined) throw new Error(answer.failed)
    if (answer.refused) {
      const { message, advice, exitCode } = answer.refused
      throw new SpillwayError(message, advice, exitCode)
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
  }
}

/** What the process says, if it says something before it ends. */
function outcomeOf(child: ChildProcess, query: QueryToRun): Promise<{ answer?: QueryAnswer; how: string }> {
  return new Promise((resolve, reject) => {
    let answer: QueryAnswer | undefined
    child.on('message', message => {
      answer = message as QueryAnswer
    })
    child.on('error', reject)
    child.on('exit', (code, ended) => resolve({ ...(answer && { answer }), how: ended ?? `code ${code}` }))
    child.send(query, () => {})
  })
}
