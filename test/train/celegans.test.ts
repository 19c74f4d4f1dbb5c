// Splice sites of C. elegans: features made on the fly find what single letters do not.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { predictRows } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { dataSet } from '../data-sets/data-sets.ts'
import { readLines } from '../data-sets/rows.ts'
import { fastFolder } from '../folders.ts'
import { isSlow } from '../slow.ts'

const folder = fastFolder()
const data = dataSet('celegans-acceptor.txt')
const [TRAINING, TESTING] = data.why ? [3000, 3000] : isSlow ? [12_000, 8000] : [5000, 4000]

/** Area under the precision-recall curve: precision at every new recall, as the threshold falls. Equal scores count together. */
function averagePrecision(scores: number[], positive: boolean[]): number {
  const order = scores.map((_, k) => k).sort((a, b) => scores[b] - scores[a])
  const all = positive.filter(Boolean).length
  let [found, area] = [0, 0]
  for (let from = 0; from < order.length; ) {
    let to = from
    let more = 0
    for (; to < order.length && scores[order[to]] === scores[order[from]]; to++) if (positive[order[to]]) more++
    found += more
    area += (more / all) * (found / to)
    from = to
  }
  return area
}

describe('splice sites', () => {
  it('the area is right on a case worked out by hand', () => {
    // Precision 1 at the first, 2/3 at the third: (1 + 2/3) / 2.
    assert.equal(averagePrecision([3, 2, 1, 0], [true, false, true, false]), 0.5 + (0.5 * 2) / 3)
    assert.equal(averagePrecision([1, 1, 1, 1], [true, false, false, false]), 0.25)
  })

  it('degree 8 finds them better than single letters, and these better than bytes, in memory and in blocks', async t => {
    const lines = readLines(data.path)
    // Neighbouring windows overlap: rows are split by where they stand, and some between are left out.
    const training = folder.write('training.txt', lines.slice(0, TRAINING).join('\n'))
    const tested = lines.slice(-TESTING)
    const testing = folder.write('testing.txt', tested.join('\n'))
    const positive = tested.map(line => !line.startsWith('-'))
    const area = async (options: TrainOptions): Promise<number> => {
      const { model } = await train(training, { normalize: 'unit', ...options }).result
      const scores: number[] = []
      for await (const piece of predictRows(testing, model)) for (const score of piece.scores) scores.push(score)
      return averagePrecision(scores, positive)
    }
    const bytes = await area({ maxPasses: 30 })
    const single = await area({ expand: 'weighted-degree:1' })
    const eight = await area({ expand: 'weighted-degree:8', tolerance: 1e-2 })
    const hashed = await area({
      expand: 'weighted-degree:8+hash:20',
      tolerance: 1e-2,
      solver: 'block',
      store: join(folder.path, 'training.spill'),
    })
    t.diagnostic(
      `area under the precision-recall curve: bytes ${bytes}, degree 1 ${single}, degree 8 ${eight}, hashed ${hashed}`,
    )
    assert.ok(single > bytes + 0.1, `${single} and ${bytes}`)
    assert.ok(eight > single + 0.02, `${eight} and ${single}`)
    assert.ok(hashed > single + 0.02, `${hashed} and ${single}`)
  })
})
