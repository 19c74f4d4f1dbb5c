import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { type GenerateOptions, type GenerateResult, generate } from '../../src/generate/generate.ts'
import { type Likeness, likenesses } from '../../src/generate/likenesses.ts'
import { train } from '../../src/train/train.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spillway-generate-'))
})
after(() => rm(folder, { recursive: true }))

/** Those that are LIBSVM text. */
const names = Object.keys(likenesses).filter(name => likenesses[name].shape.kind !== 'table')
let made = 0

async function make(options: GenerateOptions): Promise<{ text: string; result: GenerateResult }> {
  const file = join(folder, `${made++}.svm`)
  const result = await generate(file, options)
  const text = await readFile(file, 'latin1')
  await rm(file)
  return { text, result }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

interface Row {
  label: number
  indices: number[]
  values: number[]
}

/** A plain parser that believes nothing. */
function parse(text: string, features: number, labels = /^[+-]1$/): Row[] {
  assert.ok(text.endsWith('\n'))
  return text
    .slice(0, -1)
    .split('\n')
    .map(line => {
      const [label, ...entries] = line.split(' ')
      assert.match(label, labels)
      const row: Row = { label: Number(label), indices: [], values: [] }
      for (const entry of entries) {
        assert.match(entry, /^[1-9]\d*:-?(0\.\d+|[1-9]\d*)$/, `entry "${entry}" of ${line.slice(0, 200)}`)
        const [index, value] = entry.split(':').map(Number)
        assert.ok(index > (row.indices.at(-1) ?? 0), `index ${index} does not rise`)
        assert.ok(index <= features, `index ${index} is beyond ${features}`)
        assert.ok(value !== 0)
        row.indices.push(index)
        row.values.push(value)
      }
      return row
    })
}

/** What labels look like. */
const labelsOf = ({ classes }: Likeness): RegExp => (classes ? /^([1-9]\d?|100)$/ : /^[+-]1$/)

const rowsFor = (likeness: Likeness): number => (nonzerosOf(likeness) > 1000 ? 300 : 3000)

function nonzerosOf({ shape, features }: Likeness): number {
  if (shape.kind === 'drawn') return shape.nonzeros
  if (shape.kind === 'table') throw new Error('a table has cells')
  return shape.kind === 'dense' ? features : shape.groups.reduce((sum, group) => sum + group.nonzeros, 0)
}

const mean = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length

describe('every likeness', () => {
  for (const name of names) {
    const likeness = likenesses[name]
    it(`${name}: the same bytes for 1, 2 and 3 threads`, async () => {
      const rows = rowsFor(likeness)
      const digests = new Set<string>()
      for (const threads of [1, 2, 3]) digests.add(digest((await make({ like: name, rows, threads })).text))
      assert.equal(digests.size, 1)
    })

    it(`${name}: another seed, other bytes`, async () => {
      const one = await make({ like: name, rows: 20, seed: 1 })
      const two = await make({ like: name, rows: 20, seed: 2 })
      assert.notEqual(one.text, two.text)
    })

    it(`${name}: rows parse and have the statistics of the set`, async () => {
      const rows = rowsFor(likeness)
      const { text, result } = await make({ like: name, rows })
      const parsed = parse(text, likeness.features, labelsOf(likeness))
      assert.equal(parsed.length, rows)
      assert.equal(result.rows, rows)
      assert.equal(result.bytes, text.length)
      assert.equal(result.features, likeness.features)
      const nonzeros = parsed.map(row => row.indices.length)
      assert.equal(
        result.nonzeros,
        nonzeros.reduce((a, b) => a + b, 0),
      )
      const expected = nonzerosOf(likeness)
      // A few hundred rows of log-normal length: three standard errors are about a tenth.
      assert.ok(
        Math.abs(mean(nonzeros) / expected - 1) < 0.12,
        `${mean(nonzeros)} nonzeros a row, ${expected} expected`,
      )
      const positive = mean(parsed.map(row => (row.label === 1 ? 1 : 0)))
      const error = Math.sqrt((likeness.positive * (1 - likeness.positive)) / rows)
      assert.ok(
        Math.abs(positive - likeness.positive) < 4 * error,
        `${positive} positive, ${likeness.positive} expected`,
      )
      checkValues(likeness, parsed)
    })
  }
})

function checkValues({ shape }: Likeness, rows: Row[]): void {
  assert.ok(shape.kind !== 'table')
  for (const { values } of rows) {
    if (shape.values === 'ones') assert.ok(values.every(value => value === 1))
    else if (shape.values === 'levels') assert.ok(values.every(value => value > 0 && value <= 1))
    else if (shape.values === 'whole') {
      assert.ok(values.every(value => Number.isInteger(value) && value >= 1 && value <= 255))
    } else if (shape.values === 'counts-by-largest') {
      assert.equal(Math.max(...values), 1)
      assert.ok(values.every(value => value > 0))
    } else assert.ok(Math.abs(Math.hypot(...values) - 1) < 1e-4, `a row has length ${Math.hypot(...values)}`)
  }
}

describe('skin', () => {
  it('has as many rows as the real set unless told, of features that are strongly correlated', async () => {
    const { text, result } = await make({ like: 'skin' })
    assert.equal(result.rows, 245_000)
    const rows = parse(text.slice(0, text.indexOf('\n', 100_000) + 1), 3)
    const column = (j: number): number[] => rows.map(row => row.values[j])
    const covariance = (a: number, b: number): number => {
      const [x, y] = [column(a), column(b)]
      const [meanX, meanY] = [mean(x), mean(y)]
      return mean(x.map((value, i) => (value - meanX) * (y[i] - meanY)))
    }
    for (const [a, b] of [
      [0, 1],
      [0, 2],
      [1, 2],
    ]) {
      const correlation = covariance(a, b) / Math.sqrt(covariance(a, a) * covariance(b, b))
      assert.ok(correlation > 0.6 && correlation < 0.97, `${correlation}`)
    }
  })

  it('is told apart by a plane with a bias to about 92 %, whatever the seed', async () => {
    for (const seed of [1, 2, 3, 4]) {
      const file = join(folder, `skin-${seed}.svm`)
      await generate(file, { like: 'skin', rows: 20_000, seed })
      const options = { solver: 'newton', loss: 'squared-hinge', bias: 100, tolerance: 1e-6 }
      const { trainingAccuracy } = await train(file, options).result
      assert.ok(Math.abs(trainingAccuracy! - 0.92) < 0.01, `seed ${seed}: ${trainingAccuracy}`)
    }
  })

  it('has the size that is asked for', async () => {
    const { result } = await make({ like: 'skin', size: 100_000 })
    assert.ok(result.bytes > 99_000 && result.bytes <= 100_000)
  })
})

describe('skew', () => {
  it('spreads the frequent features of webspam over the range, in few distinct values a row', async () => {
    const { text } = await make({ like: 'webspam', rows: 200 })
    const rows = parse(text, likenesses['webspam'].features)
    const frequency = new Map<number, number>()
    for (const row of rows) for (const index of row.indices) frequency.set(index, (frequency.get(index) ?? 0) + 1)
    const hot = [...frequency].filter(([, count]) => count > 190).map(([index]) => index)
    assert.ok(hot.length > 20, `${hot.length} features are in nearly every row`)
    assert.ok([...frequency.values()].filter(count => count === 1).length > 10_000)
    const middle = mean(hot) / likenesses['webspam'].features
    assert.ok(middle > 0.3 && middle < 0.7, `frequent features centre at ${middle} of the range`)
    assert.ok(mean(rows.map(row => new Set(row.values).size)) < 100)
  })

  it('draws kddb from every one of its ranges', async () => {
    const { text } = await make({ like: 'kddb', rows: 2000 })
    const rows = parse(text, likenesses['kddb'].features)
    // One pupil a row, in the first range.
    for (const row of rows) assert.equal(row.indices.filter(index => index <= 6043).length, 1)
    const used = new Set(rows.flatMap(row => row.indices))
    assert.ok(Math.max(...used) > 25_000_000)
    assert.ok(used.size < 0.5 * rows.length * 29, `${used.size} features in use`)
  })
})

describe('how much', () => {
  for (const name of names) {
    it(`${name}: a size is met within a row`, async () => {
      const size = 3_000_000
      const { text, result } = await make({ like: name, size })
      assert.equal(text.length, result.bytes)
      assert.ok(text.length <= size && text.length > size * 0.9, `${text.length} bytes`)
      const rows = parse(text, likenesses[name].features, labelsOf(likenesses[name]))
      assert.equal(result.rows, rows.length)
      assert.equal(
        result.nonzeros,
        rows.reduce((sum, row) => sum + row.indices.length, 0),
      )
    })
  }

  it('a size below one row makes one row', async () => {
    const { result } = await make({ like: 'epsilon', size: 10 })
    assert.equal(result.rows, 1)
  })

  it('any numbers of rows and features make rows that parse', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...names),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 800, max: 5000 }),
        fc.nat(),
        async (like, rows, features, seed) => {
          const { text } = await make({ like, rows, features, seed, threads: 1 })
          assert.equal(parse(text, features, labelsOf(likenesses[like])).length, rows)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('fewer rows are a beginning of more rows', async () => {
    const few = await make({ like: 'kddb', rows: 100 })
    const more = await make({ like: 'kddb', rows: 5000 })
    assert.ok(more.text.startsWith(few.text))
  })
})

describe('the hidden model', () => {
  it('is shared by the test file, whose rows are others', async () => {
    const test = join(folder, 'test.svm')
    const { text, result } = await make({ like: 'ocr', rows: 4000, features: 40, noise: 0, test, testRows: 1000 })
    assert.equal(result.test?.rows, 1000)
    const training = parse(text, 40)
    const testing = parse(await readFile(test, 'latin1'), 40)
    assert.notDeepEqual(training[0], testing[0])
    // The difference of the class means is a classifier, if a crude one.
    const weights = Array.from({ length: 40 }, (_, j) => {
      const of = (label: number): number => mean(training.filter(r => r.label === label).map(r => r.values[j]))
      return of(1) - of(-1)
    })
    const score = (row: Row): number => row.values.reduce((sum, value, j) => sum + value * weights[j], 0)
    const middle = mean(training.map(score))
    const right = mean(testing.map(row => ((score(row) - middle) * row.label > 0 ? 1 : 0)))
    assert.ok(right > 0.6, `${right} right`)
  })

  it('gives each of many classes words of its own, in test rows too', async () => {
    const test = join(folder, 'test-words.svm')
    const options = { like: 'visual-words', rows: 4000, noise: 0, test, testRows: 500 }
    const likeness = likenesses['visual-words']
    const training = parse((await make(options)).text, likeness.features, labelsOf(likeness))
    const testing = parse(await readFile(test, 'latin1'), likeness.features, labelsOf(likeness))
    assert.equal(new Set(training.map(row => row.label)).size, 100)
    // The class whose mean lies nearest, by roots of values: counts of one word many times say little more.
    const count = likeness.features + 1
    const means = Array.from({ length: 101 }, () => new Float64Array(count))
    for (const label of means.keys()) {
      const members = training.filter(row => label === 0 || row.label === label)
      for (const { indices, values } of members)
        indices.forEach((index, p) => {
          means[label][index] += Math.sqrt(values[p]) / members.length
        })
    }
    const directions = means.map(each => each.map((value, index) => value - means[0][index]))
    const lengths = directions.map(each => Math.hypot(...each))
    const shifts = directions.map(each => each.reduce((sum, value, index) => sum + value * means[0][index], 0))
    const score = (label: number, { indices, values }: Row): number => {
      const sum = indices.reduce((all, index, p) => all + Math.sqrt(values[p]) * directions[label][index], 0)
      return (sum - shifts[label]) / lengths[label]
    }
    const right = testing.filter(row => {
      const scores = Array.from({ length: 100 }, (_, k) => score(k + 1, row))
      return scores.indexOf(Math.max(...scores)) + 1 === row.label
    }).length
    assert.ok(right > 0.6 * testing.length, `${right} of ${testing.length} right`)
    assert.ok(right < testing.length, 'no row was hard')
  })

  it('draws every digit so that test rows are recognised, and no two rows alike', async () => {
    const test = join(folder, 'test-digits.svm')
    const likeness = likenesses.mnist8m
    const features = 20 * 20
    const { text } = await make({ like: 'mnist8m', features, rows: 1500, noise: 0, test, testRows: 100 })
    const image = ({ indices, values }: Row): Float64Array => {
      const pixels = new Float64Array(features)
      indices.forEach((index, p) => {
        pixels[index - 1] = values[p]
      })
      return pixels
    }
    const read = (rows: string) =>
      parse(rows, features, labelsOf(likeness)).map(row => ({ label: row.label, pixels: image(row) }))
    const training = read(text)
    const distance = (a: Float64Array, b: Float64Array): number => a.reduce((sum, x, j) => sum + (x - b[j]) ** 2, 0)
    // The label of the picture that is most alike.
    const right = read(await readFile(test, 'latin1')).filter(({ label, pixels }) => {
      const all = training.map(row => distance(row.pixels, pixels))
      const nearest = Math.min(...all)
      assert.ok(nearest > 0)
      return training[all.indexOf(nearest)].label === label
    }).length
    assert.ok(right > 0.8 * 100, `${right} of 100 right`)
  })

  it('draws words of images again and again, and few of them in every image', async () => {
    const { text } = await make({ like: 'visual-words', rows: 500 })
    const rows = parse(text, 21_000, labelsOf(likenesses['visual-words']))
    const values = rows.flatMap(row => row.values).sort((a, b) => a - b)
    const middle = values[values.length >> 1]
    assert.ok(middle > 0.01 && middle < 0.2, `the median is ${middle}`)
    assert.ok(values[0] < 0.03 && mean(values) > 1.5 * values[values.length >> 2])
  })

  it('flips the share of labels that --noise says', async () => {
    const clean = parse((await make({ like: 'dna', rows: 3000, noise: 0 })).text, 800)
    const noisy = parse((await make({ like: 'dna', rows: 3000, noise: 0.5 })).text, 800)
    const positives = (rows: Row[]): number => rows.filter(row => row.label > 0).length
    assert.ok(positives(clean) < 30)
    assert.ok(Math.abs(positives(noisy) - 1500) < 150)
  })
})

describe('files', () => {
  it('are compressed when their names end so', async () => {
    const { text } = await make({ like: 'kddb', rows: 500 })
    await generate(join(folder, 'k.svm.gz'), { like: 'kddb', rows: 500 })
    await generate(join(folder, 'k.svm.zst'), { like: 'kddb', rows: 500 })
    assert.equal(gunzipSync(await readFile(join(folder, 'k.svm.gz'))).toString('latin1'), text)
    assert.equal(zstdDecompressSync(await readFile(join(folder, 'k.svm.zst'))).toString('latin1'), text)
  })

  it('keep what they were when a run is interrupted, and leave nothing beside them', async () => {
    const file = join(folder, 'kept.svm')
    await writeFile(file, 'as it was')
    const abort = new AbortController()
    const run = generate(file, { like: 'kddb', size: 2 ** 34, signal: abort.signal, onProgress: () => abort.abort() })
    await assert.rejects(run, { message: 'interrupted; nothing was kept', exitCode: 130 })
    assert.equal(await readFile(file, 'latin1'), 'as it was')
    assert.deepEqual(
      (await readdir(folder)).filter(name => name.includes('partial')),
      [],
    )
  })

  it('that cannot be written are refused in words', async () => {
    const file = join(folder, 'no', 'such', 'folder.svm')
    await assert.rejects(generate(file, { like: 'kddb', rows: 1 }), {
      message: `cannot write ${file}: there is no such file or folder`,
    })
  })
})

describe('refusals', () => {
  const refused: [string, GenerateOptions, RegExp][] = [
    ['an unknown likeness', { like: 'mnist' }, /^there is no likeness "mnist"; expected one of webspam, yahoo-korea,/],
    ['a name that every object has', { like: 'toString' }, /^there is no likeness "toString"/],
    ['rows and a size', { like: 'kddb', rows: 1, size: 1 }, /^both rows and a size were given/],
    ['half a row', { like: 'kddb', rows: 0.5 }, /^rows is 0.5; expected a whole number of at least 1$/],
    ['too few features', { like: 'kddb', rows: 1, features: 3 }, /^features is 3; expected a whole number from 68 to/],
    ['too much noise', { like: 'kddb', rows: 1, noise: 0.7 }, /^noise is 0.7; expected a number from 0 to 0.5$/],
    [
      'test rows without a file',
      { like: 'kddb', rows: 1, testRows: 1 },
      /^a number of test rows was given, but no file/,
    ],
    [
      'one file for both',
      { like: 'kddb', rows: 1, test: 'never' },
      /^never would be written twice by the same command$/,
    ],
  ]
  for (const [what, options, message] of refused) {
    it(what, () => assert.rejects(generate('never', options), { message, exitCode: 2 }))
  }
})
