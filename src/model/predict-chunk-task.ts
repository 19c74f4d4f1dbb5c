// One chunk of text to predictions: parse, score, and write the answers as text, all in one worker.
import { Expander, piecesOf } from '../features/expander.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import type { BadRow, ChunkParser, ParseSettings } from '../input-formats/input-format.ts'
import { LabelNumbers } from '../input-formats/label-numbers.ts'
import { type Label, labelKey } from '../labels.ts'
import { BATCH_LABELS } from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'
import type { ScorerMemory } from './scorer.ts'

export interface PredictChunkOptions {
  format: string
  at: number
  bytes: number
  parse: ParseSettings
  expand: string | undefined
  scorer: ScorerMemory
  labels: Label[]
  /** What to answer with: the text of the output, or the numbers. */
  answer: 'labels' | 'labels-and-scores' | 'numbers' | 'nothing'
}

export interface PredictedChunk {
  rows: number
  correct: number
  lines: number
  badRows: number
  bad: BadRow[]
  /** The output's text, one line a row. */
  text?: Uint8Array
  /** Place in the labels, and all scores. */
  classes?: Uint32Array
  scores?: Float64Array
}

interface Kept {
  parser: ChunkParser
  numbers: LabelNumbers
  expander: Expander | undefined
  scores: number
  room: number
}

export function predictChunkTask({ arena, kept }: TaskContext, options: PredictChunkOptions): PredictedChunk {
  const key = `predict ${options.format} ${options.expand}`
  let tools = kept.get(key) as Kept | undefined
  if (!tools) {
    tools = {
      parser: findInputFormat(options.format).newParser(arena),
      numbers: new LabelNumbers(arena),
      expander: options.expand === undefined ? undefined : new Expander(arena, options.expand),
      scores: 0,
      room: 0,
    }
    kept.set(key, tools)
  }
  const { parser, numbers } = tools
  const { scorer, labels, answer } = options
  const K = scorer.vectors
  const lineEnds = labels.map(label => Buffer.from(`${label.text}\n`))
  const pieces: Uint8Array[] = []
  const classParts: number[] = []
  const scoreParts: Float64Array[] = []
  const texts = labels.some(({ value }) => value === null)
    ? new Map(labels.map((label, k) => [labelKey(label), k]))
    : undefined
  const classOf: number[] = []
  numbers.start()
  let rows = 0
  let correct = 0
  for (const { batch, rows: count } of parser.parse(options.at, options.bytes, options.parse)) {
    if (count * K > tools.room) {
      tools.room = count * K * 2
      tools.scores = arena.allocate(tools.room * 8, 'the scores')
    }
    for (const piece of piecesOf(arena, batch, tools.expander)) {
      if (scorer.map) arena.numeric.renumberBatch(scorer.map, piece.batch)
      arena.numeric.scoreBatch(
        piece.batch,
        scorer.weights,
        scorer.features,
        K,
        scorer.bias,
        scorer.factors,
        scorer.unit,
        tools.scores + piece.first * K * 8,
        scorer.narrow,
      )
    }
    const scores = arena.f64(tools.scores, count * K)
    const truth = arena.f64(arena.getU32(batch + BATCH_LABELS), count)
    // Codes of texts do not tell for certain: such labels are numbered, and each is looked up among the model's.
    const named =
      texts &&
      arena.u32(
        numbers.add(batch, count, row => parser.labelText(row)),
        count,
      )
    if (named) for (const label of numbers.labels.slice(classOf.length)) classOf.push(texts.get(labelKey(label)) ?? -1)
    const longest = Math.max(...lineEnds.map(line => line.length))
    const out = Buffer.allocUnsafeSlow(answer === 'labels' ? count * longest : 0)
    let length = 0
    let text = ''
    for (let r = 0; r < count; r++) {
      let best = 0
      if (labels.length === 2) best = scores[r * K] > 0 ? 0 : 1
      else for (let k = 1; k < K; k++) if (scores[r * K + k] > scores[r * K + best]) best = k
      if (named ? classOf[named[r]] === best : truth[r] === labels[best].value) correct++
      if (answer === 'labels') {
        const line = lineEnds[best]
        for (let b = 0; b < line.length; b++) out[length++] = line[b]
      } else if (answer === 'labels-and-scores') {
        text += labels[best].text
        for (let k = 0; k < K; k++) text += ` ${scores[r * K + k]}`
        text += '\n'
      } else if (answer === 'numbers') classParts.push(best)
    }
    if (answer === 'labels') pieces.push(out.subarray(0, length))
    if (answer === 'labels-and-scores') pieces.push(Buffer.from(text))
    if (answer === 'numbers') scoreParts.push(scores.slice())
    rows += count
  }
  const { lines, badRows, bad } = parser
  return {
    rows,
    correct,
    lines,
    badRows,
    bad,
    ...(answer.startsWith('labels') && { text: pieces.length === 1 ? pieces[0] : Buffer.concat(pieces) }),
    ...(answer === 'numbers' && { classes: Uint32Array.from(classParts), scores: concatenate(scoreParts) }),
  }
}

function concatenate(parts: Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
