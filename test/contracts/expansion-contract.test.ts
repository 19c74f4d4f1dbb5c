// What every expansion promises: one form of its text, a compiled loop that does what its plain loop does, numbers of features
// and entries that hold, names that tell features apart, and refusals in words.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { UsageError } from '../../src/errors.ts'
import { allExpansions } from '../../src/features/all-expansions.ts'
import { parseExpansion } from '../../src/features/expansion-steps.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { anyString, expanded, letters, type PlainRow, sparseRow } from '../features/expanding.ts'
import { seed } from '../numeric/reference.ts'

const FEATURES = 60
const arena = new Arena()
const mark = arena.mark()

for (const expansion of allExpansions) {
  describe(`the expansion ${expansion.name}`, () => {
    const steps = parseExpansion(expansion.example)
    const [step] = steps.steps
    /** Values from 0 to 1: every expansion of numbers takes those. */
    const numbers = sparseRow(FEATURES).map(({ indices, values }) => ({
      indices,
      values: values.map(x => Math.fround(Math.abs(x) / 100)),
    }))
    const anyRow = step.letters ? anyString('ACGTN', FEATURES).map(letters) : numbers
    const expand = (rows: PlainRow[], valueBytes: 4 | 8 = 8): PlainRow[] => {
      arena.release(mark)
      return expanded(expansion.example, rows, valueBytes, arena)
    }

    it('has one form of its text', () => {
      assert.ok(expansion.example.startsWith(expansion.name))
      assert.equal(steps.steps.length, 1)
      assert.equal(parseExpansion(step.text).text, step.text)
      assert.match(expansion.takes, /^(\[?:.+)$/)
    })

    it('refuses words that it cannot have, in words', () => {
      for (const words of [['nonsense'], ['-1'], ['1e9'], [''], ['2', '2', '2', '2', '2', '2', '2']]) {
        assert.throws(
          () => expansion.parse(words),
          (error: Error) => error instanceof UsageError && /expected|not|no /.test(error.message),
          `${expansion.name}:${words.join(':')}`,
        )
      }
      assert.throws(() => parseExpansion(`no-${expansion.name}`), new RegExp(`expected one of .*${expansion.name}`))
    })

    it('has a compiled loop that does what its plain loop does, for both widths of values', () => {
      fc.assert(
        fc.property(fc.array(anyRow, { maxLength: 6 }), fc.constantFrom(4 as const, 8 as const), (rows, bytes) => {
          const round = bytes === 4 ? Math.fround : (x: number): number => x
          const plain = rows.map(({ indices, values }) =>
            step.expandRow({ indices: indices.map(BigInt), values }, round),
          )
          const found = expand(rows, bytes)
          assert.deepEqual(
            found,
            plain.map(({ indices, values }) => ({ indices: indices.map(Number), values })),
          )
          assert.deepEqual(expand(rows, bytes), found, 'the same rows give the same rows')
        }),
        { seed, numRuns: 100 },
      )
    })

    it('makes no more features and entries than it says, and tells them apart by name', () => {
      fc.assert(
        fc.property(anyRow, row => {
          const [{ indices, values }] = expand([row])
          assert.ok(indices.length <= step.entries(row.indices.length))
          assert.ok(indices.every(index => index < step.features(FEATURES)))
          if (step.constant) assert.ok(values.every(value => value === values[0]))
          const names = indices.map(feature => steps.nameOf(feature, before => `<${before}>`))
          assert.equal(new Set(names).size, names.length)
          assert.ok(names.every(name => name.length > 0))
        }),
        { seed, numRuns: 50 },
      )
    })
  })
}
