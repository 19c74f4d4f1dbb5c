// A studio that is killed, or told to end: its runs are there for the next one.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { isAlive, isAtWork } from '../../src/files/processes.ts'
import type { KeptRun, Run } from '../../src/studio/run-folder.ts'
import { filesIn, type Outcome, start } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import {
  endlessInBlocks,
  inStudio,
  longRun,
  newFolder,
  raw,
  type Studio,
  smallData,
  studioAt,
  until,
  weightsOf,
} from './studio.ts'

interface Process {
  studio: Studio
  kill(signal: NodeJS.Signals): Promise<Outcome>
}

/** `spillway studio` as a process of its own. */
async function studioProcess(folder: string): Promise<Process> {
  const { child, outcome } = start(['studio', folder, '--port', '0', '--no-open'], { cwd: folder })
  const address = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.on('data', piece => {
      text += piece
      if (text.includes('\n')) resolve(text.trim())
    })
    outcome.then(({ stderr }) => reject(new Error(stderr)))
  })
  const url = new URL(address)
  return {
    studio: studioAt(url.origin, url.searchParams.get('token')!, folder),
    kill(signal) {
      child.kill(signal)
      return outcome
    },
  }
}

const keptRun = (folder: string, id: string): KeptRun =>
  JSON.parse(readFileSync(join(folder, '.spillway', 'runs', id, 'run.json'), 'utf8'))

async function waitFor(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 30))
}

const hasCheckpoint = async (studio: Studio, id: string): Promise<boolean> =>
  (await studio.get<Run>(`/api/runs/${id}`)).hasCheckpoint

describe('a studio that is killed', { concurrency: 2 }, () => {
  it('leaves a run at work, which the next one follows and stops', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a.svm'), smallData)
    const first = await studioProcess(folder)
    const { id } = await first.studio.post<Run>('/api/runs', {
      data: 'a.svm',
      options: endlessInBlocks,
    })
    const waiting = await first.studio.post<Run>('/api/runs', { data: 'a.svm' })
    await waitFor(() => hasCheckpoint(first.studio, id))
    await first.kill('SIGKILL')
    const { process: known, ...kept } = keptRun(folder, id)
    assert.ok(isAlive(known!.pid))
    // As if the studio had been killed before it could write down which process that is.
    writeFileSync(join(folder, '.spillway', 'runs', id, 'run.json'), JSON.stringify({ ...kept, state: 'queued' }))
    await inStudio(
      async studio => {
        const found = await studio.get<Run>(`/api/runs/${id}`)
        assert.equal(found.state, 'running')
        assert.equal((await studio.get<Run>(`/api/runs/${waiting.id}`)).state, 'stopped')
        // What waits now waits for the run of the studio before.
        await studio.post(`/api/runs/${waiting.id}/resume`)
        await studio.post(`/api/runs/${id}/stop`)
        const stopped = await until(studio, id, 'stopped')
        assert.deepEqual([stopped.resumable, stopped.hasCheckpoint], [true, true])
        await until(studio, waiting.id, 'done')
      },
      {},
      folder,
    )
  })

  it('with its run leaves one that is resumed to the same bits', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a.svm'), asText(someRows(3000, 60)))
    const options = longRun
    const first = await studioProcess(folder)
    const { id } = await first.studio.post<Run>('/api/runs', { data: 'a.svm', options })
    await waitFor(() => hasCheckpoint(first.studio, id))
    await first.kill('SIGKILL')
    const run = keptRun(folder, id).process!
    process.kill(run.pid, 'SIGKILL')
    // Its memory is given back before it is gone.
    await waitFor(() => !isAtWork(run))
    await inStudio(
      async studio => {
        const found = await studio.get<Run>(`/api/runs/${id}`)
        assert.deepEqual([found.state, found.resumable], ['stopped', true])
        await studio.post(`/api/runs/${id}/resume`)
        await until(studio, id, 'done')
        const again = await studio.post<Run>('/api/runs', { data: 'a.svm', options })
        await until(studio, again.id, 'done')
        const bits = (each: string) => weightsOf(join(folder, '.spillway', 'runs', each, 'model'))
        assert.deepEqual(await bits(id), await bits(again.id))
      },
      {},
      folder,
    )
  })

  it('is told from one that is at work: two in a folder are refused', () =>
    inStudio(async ({ folder }) => {
      await assert.rejects(studioProcess(folder), /a studio is at work in .* already: process \d+/)
    }))

  it('that is told to end stops its run with a checkpoint, and says so', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a.svm'), smallData)
    const { studio, kill } = await studioProcess(folder)
    const { id } = await studio.post<Run>('/api/runs', { data: 'a.svm', options: endlessInBlocks })
    const { id: waiting } = await studio.post<Run>('/api/runs', { data: 'a.svm' })
    await waitFor(() => hasCheckpoint(studio, id))
    const { status, stderr } = await kill('SIGTERM')
    assert.equal(status, 0, stderr)
    assert.match(stderr, /^stopping the run a\.svm, C = 1; spillway studio resumes it from its checkpoint$/m)
    assert.match(stderr, /^the run a\.svm, C = 1 has stopped$/m)
    assert.deepEqual([keptRun(folder, id).state, keptRun(folder, waiting).state], ['stopped', 'stopped'])
    assert.equal(keptRun(folder, id).hasCheckpoint, true)
    rmSync(folder, { recursive: true, force: true })
  })
})

describe('files of runs that came with a folder', () => {
  it('are not believed: what is no run is passed over, and no process of somebody else is signalled', async () => {
    const folder = newFolder()
    const runs = join(folder, '.spillway', 'runs')
    const write = (id: string, run: object | string): void => {
      mkdirSync(join(runs, id), { recursive: true })
      writeFileSync(join(runs, id, 'run.json'), typeof run === 'string' ? run : JSON.stringify(run))
    }
    writeFileSync(join(folder, 'a.svm'), smallData)
    const fair = { name: 'x', data: 'a.svm', command: '', options: {}, queuedAt: '2026-01-01T00:00:00Z' }
    write('broken', '{')
    write('other', { ...fair, id: 'another', state: 'done' })
    write('options', { ...fair, id: 'options', state: 'stopped', options: { store: '/etc' } })
    write('state', { ...fair, id: 'state', state: 'flying' })
    write('Upper.Case', { ...fair, id: 'Upper.Case', state: 'done' })
    // This test's own process, by a number that somebody guessed.
    write('alive', { ...fair, id: 'alive', state: 'running', process: { pid: process.pid, start: '' } })
    write('guessed', { ...fair, id: 'guessed', state: 'running', process: { pid: process.pid, start: '12345' } })
    // It would be written to where its records lead.
    const elsewhere = newFolder()
    writeFileSync(join(elsewhere, 'precious'), 'as it was')
    write('linked', { ...fair, id: 'linked', state: 'stopped', hasCheckpoint: true })
    symlinkSync(join(elsewhere, 'precious'), join(runs, 'linked', 'records.jsonl'))
    symlinkSync(join(elsewhere, 'precious'), join(runs, 'linked', 'model'))
    symlinkSync(elsewhere, join(runs, 'linked', 'a.svm.spill'))
    write('nested', { ...fair, id: 'nested', state: 'stopped', hasCheckpoint: true })
    mkdirSync(join(runs, 'nested', 'a.svm.spill'))
    symlinkSync(elsewhere, join(runs, 'nested', 'a.svm.spill', 'states'))
    mkdirSync(join(folder, 'store'))
    writeFileSync(join(folder, 'store', 'manifest.json'), '{}')
    symlinkSync(elsewhere, join(folder, 'store', 'states'))
    write('outside', { ...fair, id: 'outside', state: 'stopped', data: '../../etc/passwd' })
    await inStudio(
      async studio => {
        const found = (await studio.get<{ runs: Run[] }>('/api/runs')).runs
        assert.deepEqual(
          found.map(({ id, state }) => `${id} ${state}`),
          ['alive', 'guessed', 'linked', 'nested', 'outside'].map(id => `${id} stopped`),
        )
        assert.equal((await studio.refused('POST', '/api/runs/outside/resume')).status, 403)
        assert.equal((await studio.refused('GET', '/api/runs/broken')).status, 404)
        const missing = await raw(studio.url, { path: `/api/runs/outside/records?token=${studio.token}` })
        assert.equal(missing.status, 404)
        await studio.post('/api/runs/linked/resume', {})
        await until(studio, 'linked', 'done')
        await studio.post('/api/runs/nested/resume', {})
        assert.match(
          (await until(studio, 'nested', 'failed')).error!,
          /^the store a\.svm\.spill has a link in it, states/,
        )
        const { status, message } = await studio.refused('POST', '/api/runs', { data: 'store' })
        assert.deepEqual([status, /has a link in it/.test(message)], [403, true])
        assert.deepEqual(filesIn(elsewhere), ['precious'])
        assert.equal(readFileSync(join(elsewhere, 'precious'), 'utf8'), 'as it was')
        rmSync(elsewhere, { recursive: true })
      },
      {},
      folder,
    )
  })
})
