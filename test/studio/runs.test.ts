// The life of a run over HTTP: queued, at work, stopped, resumed, done or failed, with its events and its files.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Run } from '../../src/studio/run-folder.ts'
import { good } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import {
  type Event,
  endless,
  events,
  inStudio,
  longRun,
  raw,
  type Studio,
  smallData,
  until,
  weightsOf,
} from './studio.ts'

const modelOf = ({ folder }: Studio, id: string): string => join(folder, '.spillway', 'runs', id, 'model')

/** All events of a stream. */
async function all(stream: AsyncIterable<Event>): Promise<Event[]> {
  const found: Event[] = []
  for await (const event of stream) found.push(event)
  return found
}

const recordsIn = (found: Event[]): Event[] => found.filter(({ event }) => event === 'record')

describe('a run', { concurrency: 2 }, () => {
  it('goes its whole way, and ends in the model of the command line', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData)
      studio.write('t.svm', asText(someRows(100, 20, { seed: 5 })))
      const options = { cost: 2, test: 't.svm', loss: 'logistic', seed: 3 }
      const added = await studio.post<Run>('/api/runs', { data: 'a.svm', options, name: 'the first' })
      assert.deepEqual([added.name, added.data, added.options], ['the first', 'a.svm', options])
      assert.equal(added.command, 'spillway train a.svm --cost=2 --loss=logistic --seed=3 --test=t.svm --evaluate')
      const path = `/api/runs/${added.id}`
      const live = await all(events(studio, `${path}/events`))
      const run = await studio.get<Run>(path)
      assert.equal(run.state, 'done', run.error)
      assert.equal(live[0].event, 'state')
      assert.deepEqual(live.at(-1), { event: 'state', id: undefined, data: { ...run } })
      const records = await raw(studio.url, { path: `${path}/records?token=${studio.token}` })
      const lines = records.text.trim().split('\n')
      assert.ok(lines.length > 3)
      assert.deepEqual(
        recordsIn(live).map(({ data }) => data),
        lines.map(line => JSON.parse(line)),
      )
      assert.deepEqual(
        recordsIn(live).map(({ id }) => id),
        lines.map((_, k) => k + 1),
      )
      const result = run.result as { exitReason: string; test: { accuracy: number } }
      assert.equal(result.exitReason, 'converged')
      assert.ok(result.test.accuracy > 0.5)
      // Again from the third line on.
      const later = recordsIn(await all(events(studio, `${path}/events`, 2)))
      assert.deepEqual(
        later.map(({ id }) => id),
        lines.slice(2).map((_, k) => k + 3),
      )
      // The same by a command line.
      await good(['train', 'a.svm', 'cli.model', '--cost', '2', '--loss', 'logistic', '--seed', '3', '-q'], {
        cwd: studio.folder,
      })
      const bits = await weightsOf(join(studio.folder, 'cli.model'))
      assert.deepEqual(await weightsOf(modelOf(studio, run.id)), bits)
      const model = await raw(studio.url, { path: `${path}/model?token=${studio.token}` })
      assert.match(String(model.headers['content-disposition']), /^attachment; filename="a\.svm\.model"$/)
      assert.equal(Number(model.headers['content-length']), readFileSync(modelOf(studio, run.id)).length)
      const report = await raw(studio.url, { path: `${path}/report?view&token=${studio.token}` })
      assert.match(report.text, /^<!doctype html>/i)
      assert.match(String(report.headers['content-security-policy']), /^sandbox allow-scripts; default-src 'none'/)
      const kept = await raw(studio.url, { path: `${path}/report?token=${studio.token}` })
      assert.match(String(kept.headers['content-disposition']), /^attachment; filename="a\.svm\.html"$/)
      await raw(studio.url, { method: 'DELETE', path: `${path}?token=${studio.token}` })
      assert.deepEqual(await studio.get('/api/runs'), { runs: [] })
      assert.deepEqual(readdirSync(join(studio.folder, '.spillway', 'runs')), [])
    }))

  it('over blocks is stopped with its checkpoint, and resumed to the same bits', () =>
    inStudio(async studio => {
      studio.write('a.svm', asText(someRows(3000, 60)))
      const { id } = await studio.post<Run>('/api/runs', { data: 'a.svm', options: longRun })
      await training(studio, id)
      assert.equal((await studio.post<Run>(`/api/runs/${id}/stop`)).state, 'stopping')
      const stopped = await until(studio, id, 'stopped')
      assert.deepEqual([stopped.resumable, stopped.hasCheckpoint], [true, true])
      const before = recordsIn(await all(events(studio, `/api/runs/${id}/events`)))
      const resumed = await studio.post<Run>(`/api/runs/${id}/resume`)
      assert.equal(resumed.state, 'queued')
      const after = recordsIn(await all(events(studio, `/api/runs/${id}/events`, before.length)))
      const done = await until(studio, id, 'done')
      assert.deepEqual(
        after.map(({ id }) => id),
        after.map((_, k) => before.length + k + 1),
      )
      const result = done.result as { start: string; passes: number }
      assert.equal(result.start, 'resumed')
      assert.equal(done.resumable, false)
      const words = Object.entries({ ...longRun, maxPasses: undefined }).flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name}=${value}`],
      )
      const { folder } = studio
      await good(['train', 'a.svm', 'cli.model', ...words, `--max-passes=${longRun.maxPasses}`, '-q'], { cwd: folder })
      assert.deepEqual(await weightsOf(modelOf(studio, id)), await weightsOf(join(folder, 'cli.model')))
      // The store of a run that is done is not kept.
      assert.deepEqual(
        readdirSync(join(folder, '.spillway', 'runs', id)).filter(name => name.endsWith('.spill')),
        [],
      )
    }))

  it('in memory that is stopped begins again when it is resumed', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData)
      const { id } = await studio.post<Run>('/api/runs', { data: 'a.svm', options: endless })
      await training(studio, id)
      await studio.post(`/api/runs/${id}/stop`)
      const stopped = await until(studio, id, 'stopped')
      assert.deepEqual([stopped.resumable, stopped.hasCheckpoint], [true, false])
      assert.ok(existsSync(modelOf(studio, id)))
      const lines = recordsIn(await all(events(studio, `/api/runs/${id}/events`))).length
      await studio.post(`/api/runs/${id}/resume`)
      await training(studio, id)
      const seen: Event[] = []
      for await (const event of events(studio, `/api/runs/${id}/events`, lines)) {
        seen.push(event)
        if (event.event === 'record') break
      }
      assert.ok(seen.some(({ event }) => event === 'restart'))
      assert.deepEqual([seen.at(-1)!.id, seen.at(-1)!.data['record']], [lines + 1, 'run'])
      await studio.post(`/api/runs/${id}/stop`)
      await until(studio, id, 'stopped')
    }))

  it('that fails tells its one sentence', () =>
    inStudio(async studio => {
      studio.write('bad.svm', '+1 1:1\n-1 2:x\n')
      studio.write('one.svm', '+1 1:1\n+1 2:1\n')
      const bad = await studio.post<Run>('/api/runs', { data: 'bad.svm' })
      const one = await studio.post<Run>('/api/runs', { data: 'one.svm' })
      const failed = await until(studio, bad.id, 'failed')
      assert.match(failed.error!, /^bad\.svm, line 2, column 4: found "2:x", expected a number as value$/)
      assert.doesNotMatch(failed.error!, /spillway:|\n/)
      const { error, result } = await until(studio, one.id, 'failed')
      assert.match(error!, /label/)
      assert.equal(result, undefined)
      assert.equal((await studio.refused('GET', `/api/runs/${bad.id}/model`)).status, 404)
      assert.deepEqual(await studio.refused('POST', `/api/runs/${bad.id}/explain`, { row: '1:1' }), {
        status: 409,
        message: 'the run has no model yet',
      })
      assert.deepEqual(await studio.refused('POST', '/api/runs', { data: 'one.svm', options: { loss: 'none' } }), {
        status: 400,
        message:
          'there is no loss "none"; expected one of hinge, squared-hinge, logistic, ramp, truncated-squared-hinge',
      })
    }))

  it('waits for the one before it; a queue goes on in its order', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData)
      const add = (options: object) => studio.post<Run>('/api/runs', { data: 'a.svm', options })
      const first = await add(endless)
      const second = await add({})
      const third = await add({ cost: 3 })
      await training(studio, first.id)
      const states = async (): Promise<string[]> =>
        (await studio.get<{ runs: Run[] }>('/api/runs')).runs.map(({ state }) => state)
      assert.deepEqual(await states(), ['running', 'queued', 'queued'])
      assert.equal((await studio.refused('DELETE', `/api/runs/${second.id}`)).status, 409)
      assert.equal((await studio.post<Run>(`/api/runs/${second.id}/stop`)).state, 'stopped')
      const changes: string[] = []
      const watching = (async () => {
        for await (const { event, data } of events(studio, '/api/events')) {
          if (event === 'run') changes.push(`${data['id']} ${data['state']}`)
          if (changes.at(-1) === `${third.id} done`) return
        }
      })()
      await studio.post(`/api/runs/${first.id}/stop`)
      await until(studio, third.id, 'done')
      await watching
      assert.ok(changes.indexOf(`${first.id} stopped`) < changes.indexOf(`${third.id} running`))
      assert.ok(!changes.includes(`${second.id} running`))
      assert.deepEqual(await states(), ['stopped', 'stopped', 'done'])
      assert.equal((await studio.refused('POST', `/api/runs/${third.id}/resume`)).status, 409)
      assert.equal((await studio.refused('POST', `/api/runs/${third.id}/stop`)).status, 409)
      await studio.post(`/api/runs/${second.id}/resume`)
      await until(studio, second.id, 'done')
    }))

  it('takes values as values, whatever they look like', () =>
    inStudio(async studio => {
      studio.write('-q.csv', 'a,--resume,b\n1,x,2\n3,y,1\n2,x,2\n5,y,7\n')
      const { id, command } = await studio.post<Run>('/api/runs', {
        data: '-q.csv',
        options: { label: '--resume', bias: -1 },
      })
      assert.equal(command, 'spillway train ./-q.csv --label=--resume --bias=-1')
      assert.equal((await until(studio, id, 'done')).state, 'done')
    }))
})

/** Waits until a run is being trained. */
async function training(studio: Studio, id: string): Promise<void> {
  for (;;) {
    const run = await studio.get<Run>(`/api/runs/${id}`)
    if ((run.last as { stage?: string } | undefined)?.stage === 'train') return
    assert.ok(run.state === 'queued' || run.state === 'running', `the run is ${run.state}: ${run.error}`)
    await new Promise(resolve => setTimeout(resolve, 30))
  }
}
