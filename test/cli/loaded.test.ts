// What a command line loads: help is there at once because nothing that works is loaded for it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { allCommands } from '../../src/cli/all-commands.ts'
import { inFolder, outcomeOf } from './run.ts'
import { asText, someRows } from './some-data.ts'

const main = new URL('../../src/cli/main.ts', import.meta.url).href
const sources = new URL('../../src/', import.meta.url).href

/** Runs command lines from the sources, in one process: the source files that were loaded, and the number of workers that were
 *  started. */
async function loadedBy(lines: string[][], cwd: string): Promise<{ files: string[]; workers: number }> {
  writeFileSync(
    join(cwd, 'script.mjs'),
    `import { subscribe } from 'node:diagnostics_channel'
    import { registerHooks } from 'node:module'
    const files = []
    let workers = 0
    subscribe('worker_threads', () => workers++)
    registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) })
    const { main } = await import('${main}')
    let status = 0
    for (const words of ${JSON.stringify(lines)}) status ||= await main(words)
    process.stderr.write('\\n' + JSON.stringify({ status, files, workers }))`,
  )
  const { stderr } = await outcomeOf(spawn(process.execPath, ['script.mjs'], { cwd }))
  const { status, files, workers } = JSON.parse(stderr.slice(stderr.lastIndexOf('\n')))
  assert.equal(status, 0, stderr)
  const own = (files as string[]).filter(url => url.startsWith(sources)).map(url => url.slice(sources.length))
  return { files: own, workers }
}

/** Where the work of each command begins. */
const WORK = [
  'block-store/add.ts',
  'block-store/ingest.ts',
  'block-store/remove.ts',
  'generate/generate.ts',
  'predict/predict.ts',
  'rows/scan.ts',
  'sample-index/build-index.ts',
  'train/cross-validate.ts',
  'train/train.ts',
  'train/tune.ts',
]

describe('a command line', () => {
  it('of --help or --version loads no command', () =>
    inFolder(async cwd => {
      const { files } = await loadedBy([['--help'], ['--version']], cwd)
      assert.ok(files.includes('cli/all-commands.ts'))
      const known = /^(cli\/(main|all-commands|command|print)|files\/standard-output|[^/]+)\.ts$/
      assert.deepEqual(
        files.filter(file => !known.test(file)),
        [],
      )
    }))

  it("of a command's help loads nothing that works", () =>
    inFolder(async cwd => {
      const names = Object.keys(allCommands)
      const lines = names.map(name => [name, '--help'])
      const { files } = await loadedBy(lines, cwd)
      for (const name of names) assert.ok(files.includes(`cli/${name}.ts`), name)
      assert.deepEqual(
        files.filter(file => WORK.includes(file)),
        [],
      )
    }))

  it('on a little text starts no worker, on much text, or when it is told how many, it does', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'two.svm'), '+1 1:1 2:0.5\n-1 1:-1 3:2\n')
      // More than is called a little: of less, a fast machine is done before workers would pay.
      const some = asText(someRows(12_000, 10))
      writeFileSync(join(cwd, 'much.svm'), some.repeat(Math.ceil((20 << 20) / some.length)))
      const lines = [
        ['train', 'two.svm', 'two.model', '-q'],
        ['predict', 'two.svm', 'two.model', 'labels.txt', '-q'],
        ['inspect', 'two.svm'],
      ]
      const two = await loadedBy(lines, cwd)
      assert.equal(two.workers, 0)
      for (const file of ['train/train.ts', 'predict/predict.ts', 'rows/scan.ts']) assert.ok(two.files.includes(file))
      const told = await loadedBy([['train', 'two.svm', 'two.model', '-q', '--threads', '3']], cwd)
      assert.equal(told.workers, 3)
      const much = await loadedBy([['train', 'much.svm', 'much.model', '-q']], cwd)
      assert.equal(much.workers, cpus().length)
    }))
})
