// Ranks on three hosts: network namespaces of this machine, each with a name and an address of its own.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { train } from '../../src/train/train.ts'
import { inFolder, type Outcome, outcomeOf, program, shows } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { check, openMpi } from './mpirun.ts'

const script = fileURLToPath(new URL('hosts-in-namespaces.sh', import.meta.url))
const prefix = `sw${(process.pid % 36 ** 4).toString(36)}`
const HOSTS = 3
const logistic = ['--loss', 'logistic', '--solver', 'newton']
const addresses = Array.from({ length: HOSTS }, (_, k) => `10.77.0.${k + 1}`)

/** A line of shell for the launcher, on the first host: a rank on each of the first `hosts`. */
function launcherLine(words: string[], { more = [], hosts: count = HOSTS }: ToStart): string {
  const settings = {
    plm_rsh_agent: `${script} enter ${prefix}`,
    oob_tcp_if_include: '10.77.0.0/24',
    btl_tcp_if_include: '10.77.0.0/24',
  }
  const mca = Object.entries(settings).flatMap(([name, value]) => ['--mca', name, value])
  const places = addresses.slice(0, count).map(address => `${address}:2`)
  const hosts = ['--host', places.join(','), '--map-by', 'node', '-n', `${count}`]
  const all = [...openMpi.words, ...mca, ...hosts, ...more, process.execPath, ...words]
  return all.map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
}

interface ToStart {
  /** Words for the launcher. */
  more?: string[]
  hosts?: number
}

function start(words: string[], cwd: string, how: ToStart = {}) {
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, NODE_TEST_CONTEXT: undefined }
  const enter = ['enter', prefix, addresses[0], launcherLine(words, how)]
  return spawn(script, enter, { cwd, env, timeout: 120_000, killSignal: 'SIGTERM' })
}

async function run(words: string[], cwd = process.cwd(), how: ToStart = {}): Promise<Outcome> {
  const child = start(words, cwd, how)
  child.stdin.end()
  return outcomeOf(child)
}

function setUp(): string | false {
  if (openMpi.skip) return openMpi.skip
  if (process.getuid?.() !== 0) return 'hosts in network namespaces take root'
  const { status, stderr, error } = spawnSync(script, ['up', prefix, `${HOSTS}`], { encoding: 'utf8' })
  if (status === 0) return false
  tearDown()
  return `no hosts in network namespaces: ${error?.message ?? stderr.trim()}`
}

function tearDown(): void {
  spawnSync(script, ['down', prefix, `${HOSTS}`])
}

/** Whether a store has a state that a run can go on from. */
function hasCheckpoint(store: string): boolean {
  const states = existsSync(store) ? readdirSync(store).filter(name => /^state-\w+$/.test(name)) : []
  return states.some(state => existsSync(join(store, state, 'checkpoint.bin')))
}

/** Ends the rank of a host at once. */
function killRank(host: number): void {
  const { stdout } = spawnSync('ip', ['netns', 'pids', `${prefix}-${host}`], { encoding: 'utf8' })
  const pids = stdout.trim().split('\n').map(Number)
  const rank = pids.find(pid =>
    /spillway\S* train/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')),
  )
  process.kill(rank!, 'SIGKILL')
}

describe('ranks on three hosts', { skip: setUp() }, () => {
  before(() => process.on('exit', tearDown))
  after(tearDown)

  it('sum, take the largest, broadcast and gather', async () => {
    const { status, stdout, stderr } = await run([check, 'check', '20000'])
    assert.equal(status, 0, stderr)
    assert.deepEqual(JSON.parse(stdout), { size: HOSTS, hosts: [1, 2, 3].map(host => `${prefix}-${host}`) })
  })

  it('end together when one is killed, and its host is named', async () => {
    const { status, stderr } = await run([check, 'kill'])
    assert.notEqual(status, 0)
    assert.match(stderr, /rank 2 .*on node (10\.77\.0\.3|\S+-3) exited on signal 9/)
  })

  it('train together', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), asText(someRows(150, 12)))
      const { status, stdout, stderr } = await run(
        [program, 'train', 'data.svm', '--json', '--quiet', ...logistic],
        folder,
      )
      assert.equal(status, 0, stderr)
      assert.equal(JSON.parse(stdout).command, 'train')
      assert.ok(existsSync(join(folder, 'data.svm.model')))
    }))

  it('go on with two, when one of three was killed and its disk is gone', () =>
    inFolder(async folder => {
      const text = asText(someRows(300, 20))
      writeFileSync(join(folder, 'data.svm'), text)
      const words = [
        program,
        'train',
        'data.svm',
        '--solver',
        'block',
        '--loss',
        'logistic',
        '--checkpoint-seconds',
        '0',
      ]
      const endless = [...words, '--tolerance', '1e-300', '--max-passes', '1000000', '--quiet']
      const child = start(endless, folder)
      child.stdin.end()
      const outcome = outcomeOf(child)
      const stores = [1, 2, 3].map(host => join(folder, `data.svm.${host}-of-3.spill`))
      while (!stores.every(hasCheckpoint)) {
        assert.equal(child.exitCode, null, 'the run goes on until one of its ranks is killed')
        await delay(50)
      }
      killRank(3)
      assert.notEqual((await outcome).status, 0)
      rmSync(stores[2], { recursive: true })
      const again = [...words, '--resume', '--tolerance', '1e-7', '--json', '--quiet']
      const { status, stdout, stderr } = await run(again, folder, { hosts: 2 })
      assert.equal(status, 0, stderr)
      const { start: began, primal } = JSON.parse(stdout)
      assert.equal(began, 'resumed')
      const alone = await train(join(folder, 'data.svm'), { loss: 'logistic', tolerance: 1e-8 }).result
      assert.ok(Math.abs(primal - alone.primal!) <= 1e-6 * alone.primal!, `${primal}, expected ${alone.primal}`)
    }))

  it('say which rank failed, and on which host', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), `${asText(someRows(150, 12))}+1 2:?\n`)
      const { status, stderr } = await run([program, 'train', 'data.svm', '--quiet', ...logistic], folder)
      assert.equal(status, 1)
      assert.match(stderr, new RegExp(`spillway: rank 2 on ${prefix}-3: data\\.svm from byte \\d+ on, line \\d+`))
    }))

  it('notice a link that is cut, when connections are watched', {
    skip: process.env['SPILLWAY_SLOW'] === '1' ? false : 'it takes 15 seconds: set SPILLWAY_SLOW=1',
  }, async () => {
    const watch = { time: '5', intvl: '2', probes: '3' }
    const more = Object.entries(watch).flatMap(([name, value]) => ['--mca', `oob_tcp_keepalive_${name}`, value])
    const child = start([check, 'wait'], process.cwd(), { more })
    child.stdin.end()
    const outcome = outcomeOf(child)
    await shows(child, /all are here/)
    spawnSync(script, ['cut', prefix, addresses[2]])
    assert.notEqual((await outcome).status, 0)
  })
})
