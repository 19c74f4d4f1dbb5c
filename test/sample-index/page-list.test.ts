// The list of pages in memory against a Map, whose order is that of the last use.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PageList } from '../../src/sample-index/page-list.ts'
import { randomNumbers } from '../numeric/reference.ts'

describe('the list of pages in memory', () => {
  it('finds what was added, and drops what was not used for the longest time', () => {
    const random = randomNumbers(3)
    const list = new PageList()
    const expected = new Map<string, { at: number; bytes: number }>()
    let [found, dropped] = [0, 0]
    for (let k = 0; k < 30_000; k++) {
      const file = Math.floor(random() * 5)
      // Some files are longer than 4 GiB.
      const page = Math.floor(random() * 600) * 64 + (file > 2 ? 2 ** 33 : 0)
      const name = `${file}:${page}`
      const held = expected.get(name)
      assert.equal(list.use(file, page), held?.at)
      if (held) {
        found++
        expected.delete(name)
        expected.set(name, held)
        continue
      }
      const place = { at: 64 * (k + 1), bytes: 64 + k }
      list.add(file, page, place)
      expected.set(name, place)
      // The list grows beyond its first room, and shrinks again.
      const most = k < 15_000 ? 1200 : 40
      while (expected.size > most) {
        const [[oldest, { at, bytes }]] = expected
        expected.delete(oldest)
        assert.deepEqual(list.dropOldest(), { at, bytes })
        dropped++
      }
    }
    assert.ok(found > 1000 && dropped > 1000)
  })
})
