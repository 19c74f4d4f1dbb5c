// The file of --outliers: a row a line, its columns divided by tabs, under a line that names them.
import { AtomicFile } from '../files/atomic-file.ts'
import type { Model } from '../model/model.ts'
import { findOutliers, type OutlierOptions } from '../predict/outliers.ts'

const COLUMNS = ['row', 'source', 'line', 'label', 'margin']

export async function writeOutliers(
  path: string,
  data: string[],
  model: Model,
  options: OutlierOptions,
): Promise<void> {
  const file = await AtomicFile.create(path)
  try {
    await file.write(Buffer.from(`${COLUMNS.join('\t')}\n`))
    await findOutliers(data, model, options, async outliers => {
      const lines = outliers.map(({ row, source, line, label, margin }) =>
        [row, plain(source), line, plain(label), margin].join('\t'),
      )
      if (lines.length > 0) await file.write(Buffer.from(`${lines.join('\n')}\n`))
    })
  } catch (error) {
    await file.discard()
    throw error
  }
  await file.commit()
}

/** A name that would break the table is quoted, as JSON has it. */
function plain(text: string): string {
  const breaks = [...text].some(letter => letter < ' ')
  return breaks ? JSON.stringify(text) : text
}
