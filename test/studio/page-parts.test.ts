// Parts of the studio's page that need no browser: addresses, the memory slider's scale, events, time left, and the store.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { collectRecords, type RunLine } from '../../src/report/records.ts'
import { chartsOfRun } from '../../src/studio/page/charts.ts'
import { EventParser, type ServerEvent } from '../../src/studio/page/event-parser.ts'
import { formatBytes, formatGap, formatNumber, formatSeconds } from '../../src/studio/page/format.ts'
import { bytesAt, lastPlace, placeOf } from '../../src/studio/page/memory-scale.ts'
import { compareLink, fileLink, parseRoute, runLink } from '../../src/studio/page/routes.ts'
import { storeState } from '../../src/studio/page/store-state.ts'
import { timeLeft } from '../../src/studio/page/time-left.ts'
import { allRecords, firstRecords, stepRecord } from './fake-records.ts'

describe('addresses of views', () => {
  it('lead back to what they were made of, whatever the name', () => {
    for (const name of ['news.svm', 'a folder/b c.csv', '100%.svm', 'ünï#?&.svm', 'run/x']) {
      assert.deepEqual(parseRoute(fileLink(name)), { view: 'file', name })
    }
    assert.deepEqual(parseRoute(runLink('ab12')), { view: 'run', id: 'ab12' })
    assert.deepEqual(parseRoute(compareLink(['a', 'b', 'a'])), { view: 'compare', ids: ['a', 'b'] })
  })

  it('that name nothing lead home', () => {
    for (const hash of ['', '#', '#/', '#/run', '#/run/a/b', '#/compare/', '#/nonsense/x', '#main']) {
      assert.deepEqual(parseRoute(hash), { view: 'home' })
    }
    assert.deepEqual(parseRoute('#/file/%E0%A4%A'), { view: 'file', name: '%E0%A4%A' })
  })
})

describe('the scale of memory', () => {
  it('doubles every eight places, in whole megabytes, up to the machine', () => {
    assert.deepEqual(
      [0, 8, 16, 24].map(bytesAt),
      [64, 128, 256, 512].map(megabytes => megabytes * 2 ** 20),
    )
    const last = lastPlace(16 * 2 ** 30)
    for (let place = 0; place < last; place++) {
      assert.equal(placeOf(bytesAt(place)), place)
      assert.ok(bytesAt(place) < bytesAt(place + 1) && bytesAt(place) % 2 ** 20 === 0)
    }
    assert.ok(bytesAt(last - 1) <= 16 * 2 ** 30 && bytesAt(last) > 16 * 2 ** 30)
    assert.equal(placeOf(1), 0)
  })
})

describe('charts of a run under way', () => {
  it('have a line of test accuracy from the second test on', () => {
    const run = { steps: 40 }
    const lines = firstRecords(run, 'spillway train news.svm')
    const idsAfter = (line: RunLine): string[] => {
      lines.push(line)
      return chartsOfRun(collectRecords(lines, 'a run')).live.map(({ id }) => id)
    }
    const test = (pass: number): RunLine => ({
      ...{ record: 'test', seconds: 1 + pass, pass, data: 't.svm', rows: 10, accuracy: 0.5 + 0.1 * pass },
    })
    idsAfter(stepRecord(run, 4))
    assert.ok(!idsAfter(test(1)).includes('test-accuracy'))
    idsAfter(stepRecord(run, 8))
    assert.ok(idsAfter(test(2)).includes('test-accuracy'))
  })
})

describe('events in pieces', () => {
  it('are whole again, wherever they are cut', () => {
    const text = ': hello\n\nid: 7\nevent: record\ndata: {"a":1}\n\ndata: one\r\ndata: two\r\n\r\nevent: none\n\n'
    const expected: ServerEvent[] = [
      { event: 'record', data: '{"a":1}', id: '7' },
      { event: 'message', data: 'one\ntwo', id: '7' },
    ]
    for (let size = 1; size <= text.length; size++) {
      const found: ServerEvent[] = []
      const parser = new EventParser(event => void found.push(event))
      for (let at = 0; at < text.length; at += size) parser.take(text.slice(at, at + size))
      assert.deepEqual(found, expected)
    }
  })
})

describe('the time left', () => {
  const falling = (count: number) =>
    Array.from({ length: count }, (_, k) => ({ seconds: k, pass: k, gap: Math.exp(-0.5 * k) }))

  it('is found where the gap falls by the same factor each second', () => {
    const left = timeLeft(falling(11), 1e-4)!
    assert.ok(Math.abs(left - (Math.log(1e4) / 0.5 - 10)) < 1e-9)
  })

  it('is not told before the gap has fallen, and nothing is left at the tolerance', () => {
    assert.equal(timeLeft([], 1e-3), undefined)
    assert.equal(timeLeft(falling(1), 1e-3), undefined)
    assert.equal(timeLeft([...falling(3), { seconds: 9, pass: 9, gap: 0.99 }], 1e-3), undefined)
    assert.equal(timeLeft(falling(30), 1e-3), 0)
  })
})

describe('numbers', () => {
  it('are as people read them', () => {
    assert.deepEqual([0, 1023, 1536, 630 * 2 ** 20, 16 * 2 ** 30].map(formatBytes), [
      '0 B',
      '1023 B',
      '1.5 KiB',
      '630 MiB',
      '16 GiB',
    ])
    assert.deepEqual([0.25, 5, 42, 75.3, 3725].map(formatSeconds), ['0.25 s', '5.0 s', '42 s', '1:15', '1:02:05'])
    assert.deepEqual(
      [0, 0.5, 1234567, -1e-7].map(x => formatNumber(x)),
      ['0', '0.5', '1.23e+6', '-1.00e-7'],
    )
    assert.deepEqual([0, 0.00123].map(formatGap), ['0', '1.2e-3'])
  })
})

describe('the store of a run', () => {
  const run = { steps: 20, blocks: 6, stepsPerPass: 6 }
  const after = (step: number) => {
    const steps = Array.from({ length: step }, (_, k) => stepRecord(run, k + 1))
    return storeState(collectRecords([...firstRecords(run, 'spillway train'), ...steps], 'a run'))!
  }

  it('shows blocks in memory, and those that the pass has met', () => {
    const { blocks, inMemory, met, pass, rows } = after(8)
    assert.equal(blocks.length, 6)
    assert.deepEqual(inMemory, [1, 2])
    // Steps 7 and 8 are of the second pass.
    assert.deepEqual([...met].sort(), [0, 1, 2])
    assert.deepEqual([pass, rows], [2, { kept: 408, left: 592, evicted: 24 }])
    assert.deepEqual([after(0).pass, after(0).inMemory], [0, []])
  })

  it('is none where all rows are in memory', () => {
    assert.equal(storeState(collectRecords(allRecords({ steps: 4 }), 'a run')), undefined)
  })
})
