// Labels of text on their way through parsers and numberings: each keeps its bytes, and no two are ever taken for one.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CHUNK_SLACK } from '../../src/input-formats/chunk-slots.ts'
import { LabelNumbers } from '../../src/input-formats/label-numbers.ts'
import { labelString } from '../../src/input-formats/label-string.ts'
import { labelCode } from '../../src/input-formats/labels.ts'
import { libsvm } from '../../src/input-formats/libsvm.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { BATCH_LABELS } from '../../src/numeric/layouts.ts'
import { seed } from '../numeric/reference.ts'
import { load, testFolder } from './fixture.ts'
import { isNumber, sameCode, textLabel } from './labels.ts'
import { firstFeature } from './parsing.ts'

const folder = testFolder()
const anyLabel = fc.oneof(
  { weight: 3, arbitrary: textLabel },
  fc.constantFrom('1', '+1', '-1', '1e0', '2.5', '-0', '0'),
)
const keyOf = (label: string): string | number => (isNumber(label) ? Number(label) + 0 : label)

for (const format of [libsvm, labelString]) {
  const row = (label: string): string => `${label} ${format === libsvm ? '1:1' : 'ACGT'}\n`

  describe(`labels of text, ${format.name}`, () => {
    it('keep their bytes, and are numbered as a Map numbers them', () => {
      const arena = new Arena()
      const mark = arena.mark()
      fc.assert(
        fc.property(fc.array(anyLabel, { minLength: 1, maxLength: 8 }), fc.array(fc.nat(100)), (labels, order) => {
          arena.release(mark)
          const written = [...labels, ...order.map(k => labels[k % labels.length])]
          const text = Buffer.from(written.map(row).join(''))
          const at = arena.allocate(text.length + CHUNK_SLACK, 'test text')
          arena.bytes(at, text.length).set(text)
          const parser = format.newParser(arena)
          const numbers = new LabelNumbers(arena)
          numbers.start()
          const settings = { indexBase: 1, skipBad: false, valueBits: 32 as const }
          for (const { batch, rows } of parser.parse({ at, bytes: text.length, first: true }, settings)) {
            assert.deepEqual(
              written.map((_, r) => parser.labelText(r)),
              written,
            )
            const found = [
              ...arena.u32(
                numbers.add(batch, rows, r => parser.labelText(r)),
                rows,
              ),
            ]
            const map = new Map<string | number, number>()
            for (const label of written) if (!map.has(keyOf(label))) map.set(keyOf(label), map.size)
            assert.deepEqual(
              found,
              written.map(label => map.get(keyOf(label))),
            )
            for (const [r, label] of written.entries()) {
              if (typeof keyOf(label) === 'number') continue
              const [low, high] = arena.u32(arena.getU32(batch + BATCH_LABELS) + r * 8, 2)
              assert.equal(BigInt(high) * 2n ** 32n + BigInt(low), BigInt(`0x${labelCode(label)}`))
            }
          }
          assert.deepEqual(parser.bad, [])
        }),
        { seed, numRuns: 400 },
      )
    })

    it('are two even if they share a code, in one chunk or in two', async () => {
      const [one, other] = sameCode()
      const text = [one, other, other, one, 'x', one, other].map(row).join('')
      const first = folder.write(`first-${format.name}`, text)
      const second = folder.write(`second-${format.name}`, [other, other, one].map(row).join(''))
      for (const threads of [1, 2]) {
        await load([first, second], { format: format.name, threads }, ({ rows }) =>
          assert.deepEqual(
            rows.labels.map(label => [label.value, label.text, label.rows]),
            [
              [null, one, 4],
              [null, other, 5],
              [null, 'x', 1],
            ],
          ),
        )
      }
    })
  })
}

describe('the number of the first feature', () => {
  const base = (text: string): number | undefined => firstFeature(Buffer.from(text))
  it('is found behind labels of text, too', () => {
    assert.equal(base('cat 0:1\n'), 0)
    assert.equal(base('c# 0:1\n'), 0)
    assert.equal(base('voilà 0:1\n'), 0)
    assert.equal(base('cat 1:1\n'), 1)
    assert.equal(base('1#a 0:1\n-1 1:1\n'), 1)
  })
})
