// `spillway/predict` as it is published: one file that needs nothing but the language, and scores rows to the last bit as Node
// does, in a bare context always and in a browser where there is one.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { type Model, scoreRow } from '../../src/model/model.ts'
import { encodeModel } from '../../src/model/own-file.ts'
import { type NamedRow, predictRow } from '../../src/model/predict-row.ts'
import { train } from '../../src/train/train.ts'
import { outcomeOf } from '../cli/run.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { goldenModel, smallModel } from '../model/some-models.ts'
import { csvOf, somePeople } from '../tables/some-people.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const folder = testFolder()
const bundle = join(folder.path, 'dist/predict.js')

const people = somePeople(120)
const peopleFile = folder.write('people.csv', csvOf(people))
const given = Array.from({ length: 60 }, (_, r) => ({
  label: ['ham', 'spam', 'eggs'][(r * 7) % 3],
  features: Object.fromEntries([1, 2, 3, 4].filter(j => (r * j + r) % 5 < 3).map(j => [j, 1 + ((r * j) % 4)])),
}))
const numbers = (count: number): Float64Array => Float64Array.from({ length: count }, (_, k) => Math.sin(k * 1.7 + 1))
const kernel = 'additive-kernel:chi2:projection:2:chebyshev:100'
/** Models that take every way through the code. */
const models: Record<string, Model> = {
  small: smallModel({ loss: 'logistic', bias: 1, biasWeights: Float64Array.of(0.3) }),
  golden: goldenModel(),
  kernel: smallModel({ features: 12, weights: numbers(12), transforms: { expand: { steps: kernel } } }),
  products: smallModel({ features: 14, weights: numbers(14), transforms: { expand: { steps: 'polynomial:2' } } }),
  hashed: smallModel({ features: 16, weights: numbers(16), transforms: { expand: { steps: 'polynomial:2+hash:4' } } }),
  table: smallModel({
    features: 37,
    weights: numbers(37),
    schema: {
      header: true,
      columns: [
        { name: 'age', role: 'number', feature: 0, missing: 1 },
        { name: 'job', role: 'category', feature: 2, values: ['judge', 'clerk'], missing: 4 },
        { name: 'zip', role: 'hashed', feature: 5, bits: 4 },
        { name: 'note', role: 'words', feature: 21, bits: 4 },
        { name: 'bought', role: 'label' },
      ],
      features: 37,
    },
  }),
  isotonic: smallModel({
    calibrations: [{ kind: 'isotonic', scores: [-1, 0, 1], probabilities: [0.1, 0.4, 0.9] }],
  }),
  // Trained, with what text is scaled by.
  words: await train(given, { threads: 1, scale: 'log-odds', normalize: 'unit', calibrate: 'isotonic' }).model,
  texts: await train(peopleFile, {
    ...{ threads: 1, label: 'bought', text: ['note'], categorical: ['zip', 'hash:6'] },
    ...{ scale: 'idf', calibrate: 'sigmoid' },
  }).model,
}
const numbered: Record<number, number>[] = [{ 1: 1 }, { 1: 0.1, 2: -0.7, 4: 1 / 3 }, { 2: 0.3, 3: 1e-3 }, {}]
/** Of the table. */
const named: NamedRow[] = [
  { age: 39.7, job: 'clerk', zip: 12345, note: 'Good, größer' },
  { age: null, job: 'unknown', zip: 'x', note: 'NA' },
]
const rowsOf = (name: string): (Record<number, number> | NamedRow)[] =>
  ({ table: named, texts: people.slice(0, 9) })[name] ?? numbered

/** Numbers in full: those that differ in the last bit differ. */
const said = (name: string): unknown[] =>
  rowsOf(name).map(row => {
    const { label, scores, probabilities } = predictRow(models[name], row)
    return [label, [...scores], probabilities ? [...probabilities] : null]
  })
const rowsByName = Object.fromEntries(Object.keys(models).map(name => [name, rowsOf(name)]))
const expected = Object.fromEntries(Object.keys(models).map(name => [name, said(name)]))

before(async () => {
  // As scripts/build-dist.js builds it.
  const script = readFileSync(join(repository, 'scripts/build-dist.js'), 'utf8')
  assert.match(script, /platform: 'neutral',\n\s+target: 'es2024',\n\s+minify: true,\n\s+plugins: \[\]/)
  await build({
    absWorkingDir: repository,
    entryPoints: ['src/model/from-bytes.ts'],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2024',
    minify: true,
    logLevel: 'silent',
  })
  for (const [name, model] of Object.entries(models)) folder.write(`${name}.model`, encodeModel(model))
})

describe('spillway/predict', () => {
  it('is one file without imports, of the size that the documents tell', () => {
    const text = readFileSync(bundle, 'utf8')
    assert.doesNotMatch(text, /\bimport\b|\brequire\b|\bprocess\b|\bBuffer\b|node:/)
    const [size, packed] = [statSync(bundle).size, gzipSync(text, { level: 9 }).length].map(n => Math.round(n / 1024))
    const [, told, toldPacked] = /(\d+) KiB, (\d+) KiB with gzip/.exec(
      readFileSync(join(repository, 'docs/browser.md'), 'utf8'),
    )!
    assert.ok(Math.abs(size - Number(told)) <= 1, `${size} KiB, and docs/browser.md says ${told}`)
    assert.ok(
      Math.abs(packed - Number(toldPacked)) <= 1,
      `${packed} KiB packed, and docs/browser.md says ${toldPacked}`,
    )
  })

  it('scores rows in a context that has nothing of Node, to the last bit', async () => {
    writeFileSync(
      join(folder.path, 'bare.mjs'),
      `import { readFileSync } from 'node:fs'
      import vm from 'node:vm'
      const context = vm.createContext({ TextDecoder, TextEncoder, out: [] })
      const library = new vm.SourceTextModule(readFileSync('dist/predict.js', 'utf8'), { context })
      const use = new vm.SourceTextModule(
        \`import { loadModel, scoreRow } from 'library'
        globalThis.answers = (bytes, rows) => {
          const model = loadModel(new Uint8Array(bytes))
          return JSON.stringify(rows.map(row => {
            const { label, scores, probabilities } = model.predict(row)
            return [label, [...scores], probabilities ? [...probabilities] : null]
          }))
        }
        globalThis.globals = typeof process + typeof require + typeof Buffer + typeof fetch\`,
        { context },
      )
      await use.link(() => library)
      await use.evaluate()
      const answers = {}
      for (const name of ${JSON.stringify(Object.keys(models))}) {
        answers[name] = JSON.parse(context.answers([...readFileSync(name + '.model')], ${JSON.stringify(rowsByName)}[name]))
      }
      console.log(JSON.stringify({ answers, globals: context.globals }))`,
    )
    const words = ['--experimental-vm-modules', '--no-warnings', 'bare.mjs']
    const { stdout, stderr } = await outcomeOf(spawn(process.execPath, words, { cwd: folder.path }))
    assert.equal(stderr, '')
    const { answers, globals } = JSON.parse(stdout)
    assert.equal(globals, 'undefined'.repeat(4))
    assert.deepEqual(answers, expected)
  })

  it('refuses what is no model, in words', async () => {
    const { loadModel, scoreRow: score } = (await import(bundle)) as typeof import('../../src/model/from-bytes.ts')
    assert.throws(() => loadModel(new ArrayBuffer(3), 'a.model'), {
      name: 'SpillwayError',
      message: 'a.model is not a Spillway model: it does not begin with "SPILLMDL"',
    })
    const bytes = encodeModel(models['small'])
    assert.throws(() => loadModel(bytes.slice(0, -1)), /^SpillwayError: the model is cut off/)
    assert.throws(() => loadModel(bytes).predict({ x: 1 } as never), { name: 'UsageError' })
    assert.deepEqual(score(loadModel(bytes), [0, 3], [1, 2]), scoreRow(models['small'], [0, 3], [1, 2]))
  })
})

/** A browser of this machine, or undefined. */
const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find(
  program => spawnSync(program, ['--version'], { timeout: 20_000 }).status === 0,
)

describe('in a browser', { skip: !chromium && 'there is no chromium here' }, () => {
  const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }

  /** Serves the folder and the example; `result` is what the page sends back. */
  async function withPages<T>(use: (url: string, result: Promise<string>) => Promise<T>): Promise<T> {
    const { promise: result, resolve } = Promise.withResolvers<string>()
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url!, 'http://localhost')
      if (request.method === 'POST') {
        let text = ''
        request.on('data', piece => {
          text += piece
        })
        request.on('end', () => {
          resolve(text)
          response.end()
        })
        return
      }
      const path = pathname.startsWith('/examples/') ? join(repository, pathname) : join(folder.path, pathname)
      try {
        const bytes = readFileSync(path)
        response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(bytes)
      } catch {
        response.writeHead(404).end()
      }
    })
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    try {
      return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, result)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  }

  const browser = (...words: string[]) => {
    const profile = `--user-data-dir=${join(folder.path, `profile-${words.length}`)}`
    const usual = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', profile]
    return spawn(chromium!, [...usual, ...words], { cwd: folder.path })
  }

  it('it scores rows to the last bit', { timeout: 90_000 }, () =>
    withPages(async (url, result) => {
      folder.write(
        'page.html',
        `<!doctype html><meta charset="utf-8"><script type="module">
        import { loadModel } from './dist/predict.js'
        const answers = {}
        for (const name of ${JSON.stringify(Object.keys(models))}) {
          const model = loadModel(await (await fetch(name + '.model')).arrayBuffer())
          answers[name] = ${JSON.stringify(rowsByName)}[name].map(row => {
            const { label, scores, probabilities } = model.predict(row)
            return [label, [...scores], probabilities ? [...probabilities] : null]
          })
        }
        await fetch('/result', { method: 'POST', body: JSON.stringify(answers) })
        </script>`,
      )
      const child = browser(`${url}/page.html`)
      const outcome = outcomeOf(child)
      assert.deepEqual(JSON.parse(await result), expected)
      child.kill('SIGKILL')
      await outcome
    }),
  )

  it('the example page shows label, scores and probabilities', { timeout: 90_000 }, () =>
    withPages(async url => {
      const page = `${url}/examples/browser.html?model=${encodeURIComponent('../small.model')}&row=${encodeURIComponent('{"1":1}')}`
      const { stdout } = await outcomeOf(browser('--virtual-time-budget=20000', '--dump-dom', page))
      const { label, scores, probabilities } = predictRow(models['small'], { 1: 1 })
      assert.match(stdout, /2 labels, 4 features/)
      const cells = [...stdout.matchAll(/<td>([^<]*)<\/td>/g)].map(([, text]) => text)
      assert.deepEqual(cells, [
        ...['label', label, 'score of +1', String(scores[0])],
        ...['probability of +1', String(probabilities![0]), 'probability of -1', String(probabilities![1])],
      ])
    }),
  )
})
