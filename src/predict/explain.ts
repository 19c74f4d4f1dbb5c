// `predict --explain`: of each row its label, and the features that made its score, as lines of text.
import { labelKey } from '../input-formats/labels.ts'
import { type Explanation, explainRow } from '../model/explain-row.ts'
import type { Model } from '../model/model.ts'
import { Arena } from '../numeric/arena.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { RowReader, type RowsToRead } from '../rows/read-rows.ts'
import { type PlainRows, plainRowsTask } from './explain-chunk-task.ts'
import type { PredictOptions, PredictResult } from './predict.ts'

export interface RowsToExplain {
  paths: string[]
  model: Model
  reading: RowsToRead
  /** Features of each row. */
  most: number
}

/** Writes a line for each row, in the order of the data. */
export async function explainData(
  { paths, model, reading, most }: RowsToExplain,
  { threads, indexBase = model.indexBase, write, progress }: PredictOptions,
): Promise<PredictResult> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const arena = new Arena()
  await using pool = await poolForText(arena, paths, threads)
  const reader = new RowReader(arena, pool, reading)
  let [rows, correct] = [0, 0]
  await reader.read(
    paths,
    (_, toParse) => pool.run(plainRowsTask, { ...toParse, parse: { ...toParse.parse, indexBase } }),
    async (_, { batches, labels }) => {
      const truth = labels.map(labelKey)
      const known = new Map(model.labels.map(label => [label.text, labelKey(label)]))
      for (const batch of batches) {
        let text = ''
        for (const [r, explanation] of explanationsOf(model, batch, most).entries()) {
          if (known.get(explanation.label) === truth[batch.classes[r]]) correct++
          text += lineOf(explanation)
        }
        rows += batch.classes.length
        await write?.(Buffer.from(text))
      }
      const { bytesRead, bytesTotal, badRows } = reader
      progress?.({ seconds: seconds(), bytesRead, bytesTotal, rows, badRows })
    },
  )
  const { badRows, badRowMessages, bytesRead } = reader
  const accuracy = rows > 0 ? correct / rows : 0
  return { rows, accuracy, correct, badRows, badRowMessages, bytesRead, seconds: seconds() }
}

function explanationsOf(model: Model, { starts, indices, values, classes }: PlainRows, most: number): Explanation[] {
  return Array.from(classes, (_, r) =>
    explainRow(model, indices.subarray(starts[r], starts[r + 1]), values.subarray(starts[r], starts[r + 1]), most),
  )
}

/** Tabs stand between: names may have blanks in them. */
function lineOf({ label, score, contributions, others }: Explanation): string {
  const parts = contributions.map(({ name, adds }) => `${signed(adds)} ${name.replace(/\s+/g, ' ')}`)
  if (others !== 0) parts.push(`${signed(others)} all others`)
  return `${[label, signed(score), ...parts].join('\t')}\n`
}

const signed = (number: number): string => `${number < 0 ? '' : '+'}${Number(number.toPrecision(4))}`
