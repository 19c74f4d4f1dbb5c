// A server on a free port, the model that it serves, and what `predict` says of its rows.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Model } from '../../src/model/model.ts'
import { predictRows } from '../../src/predict/predict.ts'
import { PredictionServer, type ServeOptions } from '../../src/serve/server.ts'
import { train } from '../../src/train/train.ts'
import { assertPlainWords } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { testFolder } from '../input-formats/fixture.ts'

export const folder = testFolder()
export const rows = someRows(400, 30, { classes: 3 })
export const data = folder.write('a.svm', asText(rows))
export const modelPath = join(folder.path, 'a.model')

/** Starts a server on a free port, for as long as `use` takes. */
export async function serving<T>(
  path: string,
  use: (url: string) => Promise<T>,
  options: ServeOptions = {},
): Promise<T> {
  const server = await PredictionServer.start(path, { port: 0, ...options })
  try {
    return await use(server.url)
  } finally {
    await server.stop()
  }
}

export const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/predict`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

export interface Prediction {
  label: string
  scores: number[]
  probabilities?: Record<string, number>
}

/** What the server says is wrong. */
export async function complaint(response: Response): Promise<{ status: number; error: string }> {
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const text = await response.text()
  assertPlainWords(text)
  const { error, ...rest } = JSON.parse(text) as { error: string }
  assert.deepEqual(rest, {})
  return { status: response.status, error }
}

export async function predicted(model: Model | string): Promise<Prediction[]> {
  const found: Prediction[] = []
  for await (const { labels, scores, probabilities } of predictRows(data, model, { threads: 1, probability: true })) {
    const [width, classes] = [scores, probabilities!].map(each => each.length / labels.length)
    labels.forEach((label, r) => {
      const shares = [...probabilities!.subarray(r * classes, (r + 1) * classes)]
      found.push({
        label,
        scores: [...scores.subarray(r * width, (r + 1) * width)],
        probabilities: Object.fromEntries(shares.map((p, k) => [names[k], p])),
      })
    })
  }
  return found
}
/** Labels of the model that `trainServed` makes. */
export let names: string[] = []

/** Trains that model. */
export async function trainServed(): Promise<void> {
  const model = await train(data, { loss: 'logistic', scale: 'standard', bias: 1, threads: 1 }).model
  names = model.labels.map(({ text }) => text)
  await model.save(modelPath)
}
