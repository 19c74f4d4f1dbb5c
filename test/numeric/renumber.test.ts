// Features of rows get other numbers: by the map of those that occur, or by a list of places of all features.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Arena } from '../../src/numeric/arena.ts'
import { newFeatureMap } from '../../src/numeric/feature-map.ts'
import { ROW_KIND_DENSE, ROW_KIND_F32 } from '../../src/numeric/layouts.ts'
import { decodeRow, randomNumbers, writeRow } from './reference.ts'

const FEATURES = 500

describe('renumbered rows', () => {
  it('are the same by a map and by places of all features', () => {
    const arena = new Arena()
    const { numeric } = arena
    const random = randomNumbers(3)
    const rows = Array.from({ length: 60 }, (_, r) => {
      const dense = r % 7 === 0
      const indices = Array.from({ length: dense ? 3 : FEATURES }, (_, j) => j).filter(() => dense || random() < 0.04)
      return { kind: dense ? ROW_KIND_DENSE : ROW_KIND_F32, indices, values: indices.map((_, k) => k + 1) }
    })
    const tables = [0, 1].map(() => {
      const table = arena.allocate(rows.length * 4, 'a table')
      arena.u32(table, rows.length).set(rows.map(row => writeRow(arena, row.kind, row)))
      return table
    })
    const map = newFeatureMap(arena, 10)
    assert.ok(numeric.enterRows(map, tables[0], 0, rows.length, arena.allocate(4, 'the longest')))
    const used = numeric.finishMap(map)
    const list = arena.allocate(used * 4, 'features')
    numeric.listFeatures(map, list)
    const features = [...arena.u32(list, used)]
    assert.ok(used > 100 && used < FEATURES)
    const places = arena.allocate(used * 4, 'places')
    arena.u32(places, used).set(features.map((_, k) => (k < 3 ? k : used + 2 - k)))
    const all = arena.allocate(FEATURES * 4, 'places of all features')
    numeric.spreadPlaces(list, places, used, all)
    assert.equal(numeric.renumberRows(map, places, tables[0], 0, rows.length), 0)
    assert.equal(numeric.renumberRows(0, all, tables[1], 0, rows.length), 0)
    for (const [r, { indices, values }] of rows.entries()) {
      const [one, other] = tables.map(table => decodeRow(arena, arena.u32(table, rows.length)[r]))
      assert.deepEqual(
        one.indices,
        indices.map(j => (j < 3 ? j : used + 2 - features.indexOf(j))),
      )
      assert.deepEqual(other.indices, one.indices)
      assert.deepEqual(other.values, values)
    }
  })
})
