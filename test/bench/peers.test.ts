// Peers by path: what is refused, and small programs that stand in for them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { notGiven, readPeers } from '../../bench/peers/all-given.ts'
import type { GivenRequest } from '../../bench/peers/given.ts'
import { readableModel } from '../../bench/peers/vw.ts'
import { linesOf } from '../data-sets/likenesses.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const noPython = spawnSync('python3', ['--version']).error ? 'python3 is not installed' : false

/** Programs that write down their words, and a model of the shape of theirs. */
const fakes: Record<string, string> = {
  blockspliter: "import { cpSync } from 'node:fs'\ncpSync(words.at(-2), words.at(-1))",
  blocktrain: [
    "import { readFileSync, writeFileSync } from 'node:fs'",
    'if (!readFileSync(words.at(-2))) process.exit(1)',
    "const head = ['solver_type L2R_L1LOSS_SVC_DUAL', 'nr_class 2', 'label 1 -1', 'nr_feature 2', 'bias -1', 'w']",
    "writeFileSync(words.at(-1), [...head, '0.5', '-0.25', ''].join('\\n'))",
  ].join('\n'),
  vw: [
    "import { writeFileSync } from 'node:fs'",
    'const after = name => words[words.indexOf(name) + 1]',
    "writeFileSync(after('--cache_file'), 'cache')",
    "writeFileSync(after('--readable_model'), 'Version 9.0\\nbits:7\\n:0\\n1:0.5\\n2:-0.25\\n4711:3\\n')",
  ].join('\n'),
}

let folder = ''
const at = (name: string): string => join(folder, name)
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'spillway-peers-'))
  mkdirSync(at('programs'))
  for (const [name, script] of Object.entries(fakes)) {
    writeFileSync(at(`programs/${name}.mjs`), `const words = process.argv.slice(2)\n${script}\n`)
    const note = `echo "${name} $@" >> '${at('words')}'`
    const line = `exec '${process.execPath}' '${at(`programs/${name}.mjs`)}' "$@"`
    writeFileSync(at(`programs/${name}`), `#!/bin/sh\n${note}\n${line}\n`, { mode: 0o755 })
  }
})
after(() => rmSync(folder, { recursive: true }))

describe('--peer', () => {
  it('refuses names and paths that are none, in one line', () => {
    const refused = (word: string): string => String(readPeers([word]))
    assert.equal(refused('sofia=/x'), '--peer is "sofia=/x"; expected cdblock=PATH or vw=PATH')
    assert.equal(refused('vw'), '--peer is "vw"; expected cdblock=PATH or vw=PATH')
    assert.equal(refused('toString=/x'), '--peer is "toString=/x"; expected cdblock=PATH or vw=PATH')
    const nowhere = at('nowhere')
    assert.equal(
      refused(`vw=${nowhere}`),
      `--peer vw=${nowhere}: there is no program ${nowhere}; expected the program vw of Vowpal Wabbit`,
    )
    assert.equal(
      refused(`cdblock=${folder}`),
      `--peer cdblock=${folder}: there is no program ${folder}/blocktrain; expected the folder of LIBLINEAR-cdblock with blocktrain and blockspliter or blocksplit`,
    )
    // A folder, or a file that is not to be run, is no program.
    assert.match(refused(`vw=${folder}`), /there is no program/)
    assert.match(refused(`vw=${at('programs/vw.mjs')}`), /there is no program/)
    assert.equal(notGiven('vw'), 'not given (--peer vw=PATH)')
  })

  it('is refused by the bench with the same words, and by suites that have no use for it', () => {
    for (const [suite, message] of [
      ['out-of-core', `--peer vw=${at('nowhere')}: there is no program ${at('nowhere')}`],
      ['start', '--peer is not for start; it is for out-of-core'],
    ]) {
      const words = [main, suite, '--peer', `vw=${at('nowhere')}`]
      const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
      assert.equal(status, 2)
      assert.ok(stderr.startsWith(message), stderr)
    }
  })
})

describe('a peer by path', () => {
  const request = (): GivenRequest => {
    return { loss: 'hinge', cost: 2, passes: 10, rows: 50, features: 2, blocks: 3, folder }
  }
  const wordsOf = (program: string): string[] =>
    readFileSync(at('words'), 'utf8')
      .trim()
      .split('\n')
      .filter(line => line.startsWith(`${program} `))

  it('cdblock: splits, then trains; the steps are measured apart', { skip: noPython }, async () => {
    writeFileSync(at('few.svm'), '+1 1:1\n-1 2:1\n')
    const peers = readPeers([`cdblock=${at('programs')}`])
    assert.ok(typeof peers !== 'string')
    const { steps, model } = await peers[0].train(await peers[0].prepare(at('few.svm'), folder), request(), {})
    assert.deepEqual(
      steps.map(({ what }) => what),
      ['split', '10 passes'],
    )
    assert.ok(steps.every(({ run }) => run.seconds > 0))
    assert.deepEqual([...model.weights], [0.5, -0.25])
    assert.match(wordsOf('blockspliter')[0], /^blockspliter -S 3 -c \S+few\.svm \S+$/)
    assert.match(wordsOf('blocktrain')[0], /^blocktrain -s 3 -c 2 -m 10 -e 1e-9 \S+ \S+$/)
  })

  it('vw: reads its own text, and aims at the same problem', { skip: noPython }, async () => {
    writeFileSync(at('few.svm'), '+1 1:1\n-1 2:0.5\n-1\n')
    const peers = readPeers([`vw=${at('programs/vw')}`])
    assert.ok(typeof peers !== 'string')
    const data = await peers[0].prepare(at('few.svm'), folder)
    assert.equal(readFileSync(data, 'utf8'), '1 | 1:1\n-1 | 2:0.5\n-1 |\n')
    const { model } = await peers[0].train(data, request(), {})
    assert.deepEqual([...model.weights], [0.5, -0.25])
    assert.match(wordsOf('vw')[0], /--passes 10 --loss_function hinge --l2 0\.01 -b 2 --noconstant/)
  })

  it('vw: what is no weight of a feature is left out of its model', async () => {
    writeFileSync(at('readable'), 'Min label:-1\nbits:18\nlda:0\n:0\n3:1.5\n0:9\n116060:4\n')
    const { weights, labels } = await readableModel(at('readable'), 4)
    assert.deepEqual([...weights], [0, 0, 1.5, 0])
    assert.deepEqual(labels, [1, -1])
  })

  it('stands in the table of out-of-core beside Spillway', { skip: noPython }, () => {
    // The data sets of the bench are made once: a file that is there is taken.
    mkdirSync(at('cache'))
    const lines = `${linesOf('a9a', 400).join('\n')}\n`
    for (const name of ['webspam-60M-seed1.svm', 'webspam-60M-seed1.test.svm'])
      writeFileSync(at(`cache/${name}`), lines)
    const words = ['out-of-core', '--only', 'peers', '--rounds', '1', '--size', 'small', '--out', at('results')]
    const given = ['--peer', `vw=${at('programs/vw')}`, '--peer', `cdblock=${at('programs')}`]
    const env = { ...process.env, SPILLWAY_BENCH_CACHE: at('cache') }
    const { status, stderr } = spawnSync(process.execPath, [main, ...words, ...given], { encoding: 'utf8', env })
    assert.equal(status, 0, stderr)
    const results = JSON.parse(readFileSync(at('results/out-of-core-small-peers.json'), 'utf8'))
    assert.deepEqual(results.skipped, [])
    const rows = results.sections[0].tables[0].rows as Record<string, unknown>[]
    assert.deepEqual(
      rows.map(({ loss, who }) => `${loss} ${who}`),
      [
        ...['hinge Spillway', 'hinge vw', 'hinge cdblock', 'logistic Spillway', 'logistic vw'],
        ...['squared-hinge Spillway', 'squared-hinge cdblock'],
      ],
    )
    for (const { who, difference, seconds, steps } of rows) {
      assert.ok(Number(seconds) > 0)
      assert.ok(who === 'Spillway' ? difference === 0 : Number(difference) > 0, `${who} ${difference}`)
      if (who === 'cdblock') assert.match(String(steps), /^split \d+\.\d\d, 10 passes \d+\.\d\d$/)
    }
  })
})
