// POST /predict: rows as JSON, read whole and answered at once; or lines of JSON or of text, answered while they come in. A client
// that does not read its answers is not read from either.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MadeRow } from '../input-formats/rows-parser.ts'
import { DELIMITERS, TAB } from '../tables/delimited-text.ts'
import { shown } from '../tables/named-row.ts'
import { Answers, type TextAnswer } from './answers.ts'
import { type BodyLimits, wholeBody, wholeLines } from './body.ts'
import { givenRow } from './given-row.ts'
import type { Metrics } from './metrics.ts'
import { errorJson, RequestError } from './request-error.ts'
import type { ServedModel } from './served-model.ts'

export interface PredictLimits extends BodyLimits {
  metrics: Metrics
  mostRows: number
  milliseconds: number
}

export interface PredictRequest {
  request: IncomingMessage
  response: ServerResponse
  url: URL
  served: ServedModel
  limits: PredictLimits
}

const JSON_TYPE = 'application/json'
/** What `curl -d` says of any body. */
const FORM_TYPE = 'application/x-www-form-urlencoded'
const LINES_TYPE = 'application/x-ndjson'
/** Lines of text by the type of the content, and what separates cells where it is one of tables. */
const TEXT_TYPES = new Map<string, readonly number[] | undefined>([
  ['text/plain', undefined],
  ['text/csv', DELIMITERS],
  ['text/tab-separated-values', [TAB]],
])
const LINE_FEED = 10

export async function answerPredict(asked: PredictRequest): Promise<void> {
  const { headers } = asked.request
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new RequestError(415, `the body is ${headers['content-encoding']}; expected one that is not compressed`)
  }
  const type = (headers['content-type'] ?? JSON_TYPE).split(';', 1)[0].trim().toLowerCase()
  if (type === JSON_TYPE || type === FORM_TYPE) return answerWhole(asked)
  if (type === LINES_TYPE) return answerLines(asked)
  if (TEXT_TYPES.has(type)) return answerText(asked, TEXT_TYPES.get(type))
  const known = [JSON_TYPE, LINES_TYPE, ...TEXT_TYPES.keys()]
  throw new RequestError(415, `the content type is ${type}; expected one of ${known.join(', ')}`)
}

async function answerWhole({ request, response, served, limits }: PredictRequest): Promise<void> {
  const body = parsed(await wholeBody(request, limits, limits.milliseconds), 'the body')
  const { rows, single } = rowsIn(body)
  if (rows.length > limits.mostRows) {
    throw new RequestError(
      413,
      `the body has ${rows.length} rows; expected ${limits.mostRows} at most, or a stream of ${LINES_TYPE}`,
    )
  }
  const answers = new Answers(served)
  const texts: string[] = []
  for (const answer of served.answerRows(made(rows, 0, served), 0)) texts.push(answers.json(answer))
  limits.metrics.addRows(rows.length)
  const text = Buffer.from(single ? `${texts[0]}\n` : `{"predictions":[${texts.join(',')}]}\n`)
  response.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': text.length })
  response.end(text)
}

/** A body is one row, a list of rows, or has such a list. A list that begins with a number is one row. */
function rowsIn(body: unknown): { rows: unknown[]; single: boolean } {
  const listed = (body as { rows?: unknown } | null)?.rows
  if (Array.isArray(listed)) return { rows: listed, single: false }
  if (Array.isArray(body) && typeof body[0] !== 'number') return { rows: body, single: false }
  return { rows: [body], single: true }
}

function* made(rows: Iterable<unknown>, before: number, served: ServedModel): Generator<MadeRow> {
  let number = before
  for (const row of rows) yield givenRow(row, ++number, served.names)
}

function parsed(bytes: Buffer | string, what: string): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch (error) {
    throw new RequestError(400, `${what} is not JSON: ${(error as Error).message}`)
  }
}

/** Rows as lines of JSON. What goes wrong on the way is the last line of the answer. */
async function answerLines(asked: PredictRequest): Promise<void> {
  const { response, served } = asked
  const answers = new Answers(served)
  try {
    await answerPieces(asked, LINES_TYPE, (piece, before) => {
      const lines = piece.toString().split('\n')
      const rows: unknown[] = []
      for (const line of lines) if (line.trim() !== '') rows.push(parsed(line, `row ${before + rows.length + 1}`))
      let text = ''
      for (const answer of served.answerRows(made(rows, before, served), before)) text += `${answers.json(answer)}\n`
      return { text, rows: rows.length, units: rows.length }
    })
  } catch (error) {
    if (!response.headersSent || !(error instanceof RequestError)) throw error
    response.end(errorJson(error.message))
  }
}

/** Lines as `predict` reads them, answered by lines as it prints them. */
async function answerText(asked: PredictRequest, delimiters: readonly number[] | undefined): Promise<void> {
  const { url, served } = asked
  const answers = new Answers(served)
  const kind = textAnswer(url, served)
  const given = served.openText(delimiters)
  const answer = (piece: Buffer, before: number): PieceAnswer => {
    let text = ''
    let rows = 0
    for (const each of given.answers(piece, before)) {
      text += answers.line(each, kind)
      rows++
    }
    return { text, rows, units: lineCount(piece) }
  }
  await answerPieces(asked, 'text/plain; charset=utf-8', answer, given.endOfRows)
}

/** Complaints about text name lines, also those that are no rows. */
function lineCount(piece: Buffer): number {
  let count = 0
  for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1)) count++
  return count
}

function textAnswer({ searchParams }: URL, served: ServedModel): TextAnswer {
  const strange = [...searchParams.keys()].find(key => key !== 'scores' && key !== 'probability')
  if (strange !== undefined) {
    throw new RequestError(400, `found the parameter ${shown(strange)}, expected scores or probability`)
  }
  const [scores, probability] = [searchParams.has('scores'), searchParams.has('probability')]
  if (scores && probability) throw new RequestError(400, 'scores and probabilities cannot both be written')
  if (probability && !served.hasProbabilities) {
    throw new RequestError(400, "this model's scores are not probabilities: it is neither logistic nor calibrated")
  }
  return probability ? 'probability' : scores ? 'scores' : 'labels'
}

interface PieceAnswer {
  text: string
  rows: number
  /** Rows or lines that the piece had, as complaints count them. */
  units: number
}

/** Answers piece by piece; the next one is read when the answer to the last one has gone. */
async function answerPieces(
  { request, response, limits }: PredictRequest,
  type: string,
  answer: (piece: Buffer, before: number) => PieceAnswer,
  endOfRows?: (text: Buffer) => number,
): Promise<void> {
  let before = 0
  for await (const piece of wholeLines(request, limits, endOfRows)) {
    const { text, rows, units } = answer(piece, before)
    before += units
    limits.metrics.addRows(rows)
    // Until there is an answer, such as behind the names of columns, what goes wrong has a status of its own.
    if (text === '') continue
    if (!response.headersSent) response.writeHead(200, { 'content-type': type })
    if (response.write(text)) continue
    const left = new AbortController()
    await Promise.race([
      once(response, 'drain', { signal: left.signal }),
      once(response, 'close', { signal: left.signal }),
    ]).finally(() => left.abort())
    if (response.destroyed) return
  }
  if (!response.headersSent) response.writeHead(200, { 'content-type': type })
  response.end()
}
