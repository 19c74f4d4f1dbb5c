// LIBLINEAR's own programs, as Debian packages them (liblinear-tools) or under their names from its source (train, predict
// are too common for that: link them as liblinear-train and liblinear-predict).
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type MeasureOptions, measure } from '../measure.ts'
import type { Peer, TrainRequest, TrainRun } from './peer.ts'

const run = promisify(execFile)

/** The solver numbers of its dual methods, the ones that Spillway is measured against. */
const SOLVERS = { hinge: 3, 'squared-hinge': 1, logistic: 7 } as const

export interface LiblinearRequest extends TrainRequest {
  /** Another solver for the loss. */
  solver?: number
}

export const liblinear = {
  name: 'LIBLINEAR',
  howToInstall: 'apt-get install liblinear-tools (it brings liblinear-train and liblinear-predict)',

  async version() {
    for (const program of ['liblinear-train', 'liblinear-predict']) {
      // Without arguments both print their usage and exit with 1; a missing program is an error of another kind.
      const missing = await run(program).then(
        () => false,
        error => error.code === 'ENOENT',
      )
      if (missing) return undefined
    }
    // The programs do not tell their version; the package does.
    const query = run('dpkg-query', ['-W', '-f', '$' + '{Version}', 'liblinear-tools'])
    return query.then(({ stdout }) => stdout.trim()).catch(() => 'of unknown version')
  },

  async train(data: string, request: LiblinearRequest, options?: MeasureOptions): Promise<TrainRun> {
    const measured = await measure(
      [
        'liblinear-train',
        ...['-s', String(request.solver ?? SOLVERS[request.loss]), '-c', String(request.cost)],
        ...(request.bias ? ['-B', String(request.bias)] : []),
        ...(request.stop === undefined ? [] : ['-e', String(request.stop)]),
        ...[data, request.model],
      ],
      options,
    )
    // Its dual solvers minimise, so what they print is the negative of the lower bound; one line a class.
    const printed = [...measured.stdout.matchAll(/^Objective value = (\S+)/gm)].map(match => -Number(match[1]))
    const dual = printed.length > 0 ? printed.reduce((sum, value) => sum + value) : undefined
    const iterations = [...measured.stdout.matchAll(/#iter = (\d+)/g)].map(match => Number(match[1]))
    const told = { iterations, reachedLimit: measured.stdout.includes('reaching max number of iterations') }
    return { ...measured, modelFile: request.model, dual, told }
  },

  predict: (data, model, out, options) => measure(['liblinear-predict', data, model, out], options),

  asLiblinear: async (model: string) => model,
} satisfies Peer
