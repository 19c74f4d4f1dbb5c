// Rows by the names of their columns: the features that the parser of delimited text makes of the same cells, and words for rows
// that cannot be read.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { NamedRows } from '../../src/tables/named-row.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { seed } from '../numeric/reference.ts'
import { readTable } from './reading.ts'
import { csvOf, somePeople } from './some-people.ts'

const folder = testFolder()
const people = somePeople(300)
const file = folder.write('people.csv', csvOf(people))
const table = { label: 'bought', categorical: ['zip', 'hash:12'], text: ['note'] }
const refuse = (found: string, expected: string): never => {
  throw new Error(`found ${found}, expected ${expected}`)
}

describe('a row by the names of its columns', () => {
  for (const [name, options] of Object.entries({
    'lists of values': { label: 'bought' },
    'hashes and words': table,
    'words beside lists': { label: 'bought', text: ['note'] },
  })) {
    it(`has the features of the same row of a table: ${name}`, async () => {
      for (const valueBits of [32, 64] as const) {
        const { schema, rows } = await readTable([file], { ...options, valueBits })
        const named = new NamedRows(schema, valueBits)
        for (const [r, person] of people.entries()) {
          const { indices, values } = named.entries(person, refuse)
          assert.ok(indices.every((feature, k) => k === 0 || feature > indices[k - 1]))
          assert.deepEqual(Object.fromEntries(indices.map((feature, k) => [feature, values[k]])), rows[r])
        }
      }
    })
  }

  it('has the features of the same cells, whatever is in them', async () => {
    const { schema } = await readTable([file], table)
    const named = new NamedRows(schema, 64)
    const text = fc.string({ unit: 'binary', maxLength: 12 }).filter(each => each.isWellFormed())
    const cells = fc.record({
      age: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
      'job, if any': fc.option(fc.oneof(text, fc.constantFrom('clerk', 'NA', '?', 'Null', 'nan', '', ' clerk'))),
      gain: fc.integer(),
      zip: fc.oneof(text, fc.nat(), fc.boolean()),
      note: text,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(cells, { minLength: 100, maxLength: 100 }), async given => {
        const rows = given.map(row => ({ ...row, bought: 'yes' }))
        const read = await readTable([folder.write('given.csv', csvOf(rows))], { schema, valueBits: 64 })
        for (const [r, row] of rows.entries()) {
          const { indices, values } = named.entries(row, refuse)
          assert.deepEqual(Object.fromEntries(indices.map((feature, k) => [feature, values[k]])), read.rows[r])
        }
      }),
      { seed, numRuns: 5 },
    )
  })

  it('knows its features by the names that inspect shows', async () => {
    const { schema } = await readTable([file], { label: 'bought' })
    const named = new NamedRows(schema, 32)
    assert.equal(named.featureOf('age'), 0)
    assert.equal(named.featureOf('age is missing'), 1)
    const { indices } = named.entries({ ...people[0], age: 1, 'job, if any': 'clerk' }, refuse)
    assert.ok(indices.includes(named.featureOf('job, if any=clerk')!))
    assert.equal(named.featureOf('bought'), undefined)
  })

  it('is refused in words', async () => {
    const { schema } = await readTable([file], table)
    const named = new NamedRows(schema, 32)
    const [person] = people
    const refused = (row: Record<string, unknown>): string => {
      try {
        named.entries(row, refuse)
      } catch (error) {
        return (error as Error).message
      }
      return assert.fail('it was read')
    }
    const { age: _, ...ageless } = person
    const columns = 'the columns "age", "job, if any", "gain", "zip", "note"'
    assert.equal(refused(ageless), `found no column "age", expected ${columns}; null stands for a cell that is missing`)
    assert.equal(refused({ ...person, agge: 1 }), `found the column "agge", expected ${columns}`)
    const expected = 'expected a finite number that 32 bits can hold'
    assert.equal(refused({ ...person, age: 'old' }), `found "old" in column "age", ${expected}`)
    assert.equal(refused({ ...person, age: 1e39 }), `found 1e+39 in column "age", ${expected}`)
    assert.equal(
      refused({ ...person, zip: [1] }),
      'found [1] in column "zip", expected a number, a text, true, false or null',
    )
    // A program may give what JSON cannot hold.
    const loop: unknown[] = []
    loop.push(loop)
    for (const [age, found] of [
      [5n, '5'],
      [Number.POSITIVE_INFINITY, 'Infinity'],
      [loop, 'a list'],
    ]) {
      assert.ok(refused({ ...person, age }).startsWith(`found ${found} in column "age", expected a `), String(found))
    }
    // The label need not be there.
    const { bought: __, ...unlabelled } = person
    assert.deepEqual(named.entries(unlabelled, refuse), named.entries(person, refuse))
  })
})
