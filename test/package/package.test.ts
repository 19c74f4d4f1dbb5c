// The package as npm would publish it: what is in it, that it runs from dist/, and that its types compile.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { publint } from 'publint'
import { inFolder, newFolder, type Outcome, outcomeOf } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
// The build goes into a copy: other tests run from dist/ at the same time.
const root = newFolder()
const { name, bin, exports, files, scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  name: string
  bin: Record<string, string>
  exports: Record<string, string | Record<string, string>>
  files: string[]
  scripts: Record<string, string>
}

async function node(words: string[], cwd: string): Promise<Outcome> {
  return outcomeOf(spawn(process.execPath, words, { cwd }))
}

const tsc = join(root, 'node_modules/typescript/bin/tsc')

describe('the package', () => {
  before(async () => {
    const parts = [
      'src',
      'scripts',
      'tsconfig.json',
      'tsconfig.build.json',
      'package.json',
      ...files.filter(part => part !== 'dist'),
    ]
    for (const part of parts.filter(part => existsSync(join(repository, part)))) {
      cpSync(join(repository, part), join(root, part), { recursive: true })
    }
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
    const { status, stdout, stderr } = await node([join(root, 'scripts/build-dist.js')], root)
    assert.equal(status, 0, `the build failed: ${stdout}${stderr}`)
  })
  after(() => rmSync(root, { recursive: true, force: true }))

  it('holds the program, the library, its types and the numeric module, and nothing else', async () => {
    // Without its scripts: packing would build again.
    const packed = await outcomeOf(spawn('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root }))
    assert.equal(packed.status, 0, packed.stderr)
    const [{ files: listed }] = JSON.parse(packed.stdout) as [{ files: { path: string }[] }]
    const paths = listed.map(({ path }) => path)
    const needed = [
      'package.json',
      'LICENSE',
      'bin/spillway.js',
      'dist/main.js',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/worker.js',
      'dist/run-tasks.js',
      'dist/predict.js',
      'dist/model/from-bytes.d.ts',
      'dist/numeric.wasm',
    ]
    for (const path of needed) assert.ok(paths.includes(path), `${path} is missing`)
    const places = [...files, 'package.json']
    for (const path of paths) assert.ok(places.includes(path.split('/')[0]), `${path} does not belong in it`)
    const surplus = paths.filter(path => /(^|\/)(test|bench|src|node_modules)\/|\.test\.|(?<!\.d)\.ts$/.test(path))
    assert.deepEqual(surplus, [])
    const bundles = paths.filter(path => /^dist\/.*(?<!\.d\.ts)$/.test(path))
    const pages = ['report.css', 'report.js', 'studio.css', 'studio.html', 'studio.js']
    const own = ['index.js', 'main.js', 'numeric.wasm', 'predict.js', 'query-process.js', 'run-tasks.js', 'worker.js']
    const expected = [...own, ...pages]
    assert.deepEqual(bundles.sort(), expected.map(file => `dist/${file}`).sort())
    assert.ok(!paths.includes('dist/cli/main.d.ts'), 'types that the library does not lead to')
  })

  /** The tarball that would be published. */
  const pack = async (cwd: string): Promise<string> => {
    const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', cwd]
    const packed = await outcomeOf(spawn('npm', words, { cwd: root }))
    assert.equal(packed.status, 0, packed.stderr)
    return join(cwd, (JSON.parse(packed.stdout) as [{ filename: string }])[0].filename)
  }

  it('has no fault that publint or attw finds', () =>
    inFolder(async cwd => {
      const tarball = await pack(cwd)
      const { messages } = await publint({
        pack: { tarball: Uint8Array.from(readFileSync(tarball)).buffer },
        strict: true,
      })
      assert.deepEqual(
        messages.map(message => message.code),
        [],
      )
      const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js')
      const { status, stdout } = await node(
        [attw, tarball, '--profile', 'esm-only', '--no-definitely-typed', '--no-color'],
        cwd,
      )
      assert.equal(status, 0, stdout)
      // There are modules alone, and no older Node than 24: what those could not resolve is left out.
      assert.match(stdout, /node16 \(from ESM\) │ 🟢 \(ESM\) +│ 🟢 \(ESM\) +│ 🟢 \(JSON\)/)
      assert.match(stdout, /bundler +│ 🟢 +│ 🟢 +│ 🟢 \(JSON\)/)
    }))

  it('installs from its tarball into an empty folder, with what reads some formats and nothing else', () =>
    inFolder(async cwd => {
      const tarball = await pack(cwd)
      writeFileSync(join(cwd, 'package.json'), '{"type":"module","private":true}')
      const words = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', tarball]
      const installed = await outcomeOf(spawn('npm', words, { cwd }))
      assert.equal(installed.status, 0, installed.stderr)
      assert.deepEqual(
        readdirSync(join(cwd, 'node_modules')).filter(each => !each.startsWith('.')),
        ['@uwdata', 'fzstd', 'hyparquet', 'hyparquet-compressors', 'hysnappy', name, 'xz-decompress'],
      )
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(100, 10)))
      const program = join(cwd, 'node_modules/.bin/spillway')
      const trained = await node(['--no-strip-types', program, 'train', 'a.svm', 'a.model', '-q'], cwd)
      assert.equal(trained.status, 0, trained.stderr)
      writeFileSync(
        join(cwd, 'use.js'),
        `import { readFileSync } from 'node:fs'
        import { loadModel, train, version } from 'spillway'
        import { loadModel as fromBytes } from 'spillway/predict'
        const [a, b] = [await loadModel('a.model'), fromBytes(readFileSync('a.model'))].map(model => model.predict({ 1: 1 }))
        async function* rows() {
          yield { label: 'ham', features: { 1: 1 } }
          yield { label: 'spam', indices: [2], values: [1] }
        }
        const csr = {
          labels: Int8Array.of(1, -1),
          starts: Uint32Array.of(0, 1, 2),
          indices: Uint32Array.of(1, 2),
          values: Float32Array.of(1, 1),
        }
        const [c, d] = [await train(rows()).model, await train(csr).model].map(model => model.predict({ 1: 1 }))
        const isSame = a.label === b.label && Object.is(a.scores[0], b.scores[0])
        console.log(version, isSame && c.label === 'ham' && d.label === '1')`,
      )
      const { stdout, stderr } = await node(['--no-strip-types', 'use.js'], cwd)
      assert.equal(stderr, '')
      assert.match(stdout, /^\d+\.\d+\.\d+\S* true\n$/)
    }))

  it('has every task in the bundle of its workers, and every name that the library exports', async () => {
    const tasks = globSync('src/**/*.ts', { cwd: root }).flatMap(file => {
      const text = readFileSync(join(root, file), 'utf8')
      return [...text.matchAll(/declareTask\(\s*import\.meta\.url,\s*'([^']+)'/g)].map(([, task]) => task)
    })
    assert.ok(tasks.length > 20)
    const worker = readFileSync(join(root, 'dist/run-tasks.js'), 'utf8')
    for (const task of tasks) assert.match(worker, new RegExp(`declareTask\\(import\\.meta\\.url,"${task}"`), task)
    const [built, sources] = await Promise.all(
      ['dist/index.js', 'src/index.ts'].map(path => import(pathToFileURL(join(root, path)).href)),
    )
    assert.deepEqual(Object.keys(built), Object.keys(sources))
  })

  it('names files that are there', () => {
    const named = [
      ...Object.values(bin),
      ...Object.values(exports).flatMap(to => (typeof to === 'string' ? to : Object.values(to))),
    ]
    for (const path of named) assert.ok(existsSync(join(root, path)), path)
    assert.equal(readFileSync(join(root, bin['spillway']), 'utf8').split('\n')[0], '#!/usr/bin/env node')
    assert.ok(statSync(join(root, bin['spillway'])).mode & 0o100, 'bin may be run')
  })

  it('trains from dist/, with workers in JavaScript', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(100, 10)))
      writeFileSync(
        join(cwd, 'script.mjs'),
        `import { subscribe } from 'node:diagnostics_channel'
        import { train, predict, version } from '${pathToFileURL(join(root, 'dist/index.js')).href}'
        let workers = 0
        subscribe('worker_threads', () => workers++)
        const model = await train('a.svm', { threads: 2 }).model
        await model.save('a.model')
        const { rows, accuracy } = await predict('a.svm', 'a.model', { threads: 2 })
        console.log(JSON.stringify({ rows, workers, good: accuracy > 0.7, version }))`,
      )
      // Types are not stripped here: were a worker to start from a .ts file, it would fail.
      const { status, stdout, stderr } = await node(['--no-strip-types', 'script.mjs'], cwd)
      assert.equal(stderr, '')
      assert.equal(status, 0)
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      assert.deepEqual(JSON.parse(stdout), { rows: 100, workers: 4, good: true, version })
    }))

  it('runs as a command where it is installed', () =>
    inFolder(async cwd => {
      const at = join(cwd, 'node_modules', name)
      mkdirSync(at, { recursive: true })
      for (const part of ['bin', 'dist', 'package.json']) symlinkSync(join(root, part), join(at, part))
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(100, 10)))
      const words = ['--preserve-symlinks', '--preserve-symlinks-main', '--no-strip-types']
      const { status, stdout, stderr } = await node([...words, join(at, bin['spillway']), 'train', 'a.svm', '-q'], cwd)
      assert.equal(status, 0, stderr)
      assert.match(stdout, /^a\.svm: 100 rows, 10 features, .*\n(.*\n)*model: a\.svm\.model\n$/)
    }))

  const consumer = async (cwd: string, use: string, extra: object = {}): Promise<Outcome> => {
    mkdirSync(join(cwd, 'node_modules', '@types'), { recursive: true })
    symlinkSync(root, join(cwd, 'node_modules', name))
    for (const types of ['@types/node', 'undici-types']) {
      symlinkSync(join(root, 'node_modules', types), join(cwd, 'node_modules', types))
    }
    const options = {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024'],
      strict: true,
      noEmit: true,
      types: ['node'],
    }
    const strict = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
    const compilerOptions = { ...options, ...strict, skipLibCheck: true, ...extra }
    writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }))
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
    writeFileSync(join(cwd, 'use.ts'), use)
    return node([tsc, '-p', '.'], cwd)
  }
  const use = `
    import { crossValidate, ingest, loadModel, predict, predictRows, SpillwayError, train, tune, UsageError } from 'spillway'
    import type { CsrRows, Model, Progress, TrainOptions, TrainResult } from 'spillway'
    import { loadModel as fromBytes, type RowPrediction } from 'spillway/predict'
    const options: TrainOptions = { loss: 'hinge', cost: 1, signal: new AbortController().signal }
    const run = train(['a.svm', 'b.svm'], options)
    for await (const p of run) {
      const record: Progress = p
      if (record.stage === 'train') console.log(record.pass, record.primal, record.gap)
    }
    const model = await run.model
    await model.save('a.model')
    const result: TrainResult = await run.result
    const reason: 'converged' | 'max-passes' | 'interrupted' = result.exitReason
    const loaded: Model = await loadModel('a.model')
    const { accuracy } = await predict('a.svm', loaded, { write: async text => void text.length })
    for await (const { labels, scores } of predictRows('a.svm', 'a.model')) console.log(labels[0]?.length, scores[0])
    const { manifest } = await ingest('a.svm', 'a.spill', { split: 'random' })
    const error: SpillwayError = new UsageError('x')
    async function* rows() {
      yield { label: 'ham', features: { 3: 0.5, 17: 1 } }
      yield { label: 'spam', indices: [2, 3], values: [1, 0.25] }
    }
    const csr: CsrRows = {
      labels: Int8Array.of(1, -1),
      starts: Uint32Array.of(0, 2, 3),
      indices: Uint32Array.of(3, 17, 2),
      values: Float32Array.of(0.5, 1, 0.25),
    }
    const { best } = await tune(rows(), { costs: [1, 10] })
    const { costs } = await crossValidate({ sql: 'SELECT 1' }, { label: 'y' })
    console.log(best.accuracy, costs.length, (await train(rows()).model).labels, (await train(csr).model).features)
    const said: RowPrediction = fromBytes(new ArrayBuffer(8)).predict({ 3: 0.5 })
    console.log(said.label, said.scores[0], said.probabilities?.length)
    console.log(reason, accuracy.toFixed(2), manifest.rows.toFixed(), error.exitCode)
  `

  it('has types that compile in a strict project of somebody else', () =>
    inFolder(async cwd => {
      const { status, stdout } = await consumer(cwd, use)
      assert.equal(status, 0, stdout)
    }))

  it('has types that refuse what is wrong', () =>
    inFolder(async cwd => {
      const wrong = `import { train } from 'spillway'\ntrain('a', { cost: '1' })\ntrain(3)\ntrain('a').nothing\n`
      const { stdout } = await consumer(cwd, wrong)
      for (const line of [2, 3, 4]) assert.match(stdout, new RegExp(`^use\\.ts\\(${line},`, 'm'))
      assert.doesNotMatch(stdout, /^use\.ts\(1,/m)
    }))

  it('has types that are right in themselves, also without the types of a browser', () =>
    inFolder(async cwd => {
      const { status, stdout } = await consumer(cwd, use, { skipLibCheck: false })
      assert.equal(status, 0, stdout)
    }))
})

describe('the project', () => {
  const readme = join(repository, 'README.md')
  const skip = !existsSync(readme) && 'there is no README.md yet'

  it('has every script that the README names', { skip }, () => {
    const text = readFileSync(readme, 'utf8')
    const named = [...text.matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].map(([line, word]) => ({ line, word }))
    const ofNpm = ['ci', 'install', 'i', 'pack', 'publish', 'link', 'init', 'exec', 'package', 'uninstall']
    for (const { line, word } of named) {
      if (line.includes(' run ') || !ofNpm.includes(word)) assert.ok(scripts[word], `${line} of the README`)
    }
    assert.ok(named.length > 0)
  })

  it('runs in .ci/run what exists', () => {
    const text = readFileSync(join(repository, '.ci/run'), 'utf8')
    for (const [line, word] of text.matchAll(/^npm (?:run )?([\w:-]+)/gm)) {
      assert.ok(word === 'ci' || scripts[word], line)
    }
    assert.match(text, /^npm test$/m)
    assert.ok(statSync(join(repository, '.ci/run')).mode & 0o100, 'it may be run')
    for (const [, script] of Object.values(scripts)
      .join('\n')
      .matchAll(/node ((?:scripts|bench)\/\S+)/g)) {
      assert.ok(existsSync(join(repository, script)), script)
    }
  })
})
