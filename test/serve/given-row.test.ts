// Whatever a request brings: rows of any JSON are answered or refused in words, lines are never cut, and bodies take the memory
// that they may.
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { scoreRow } from '../../src/model/model.ts'
import { BodyRoom, wholeLines } from '../../src/serve/body.ts'
import { givenRow } from '../../src/serve/given-row.ts'
import { Metrics } from '../../src/serve/metrics.ts'
import { RequestError } from '../../src/serve/request-error.ts'
import { ServedModel } from '../../src/serve/served-model.ts'
import { smallModel } from '../model/some-models.ts'
import { seed } from '../numeric/reference.ts'

describe('rows of requests', () => {
  const served = new ServedModel(smallModel())

  it('are answered with finite scores or refused in words, whatever JSON they are', () => {
    const likely = fc.dictionary(fc.oneof(fc.nat({ max: 9 }).map(String), fc.string()), fc.jsonValue(), { maxKeys: 4 })
    const lists = fc.record({ indices: fc.array(fc.jsonValue()), values: fc.array(fc.jsonValue()) })
    const counts = { answered: 0, refused: 0 }
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), likely, lists, fc.array(fc.double())), given => {
        // As it comes out of a body.
        const row = JSON.parse(JSON.stringify(given))
        try {
          const [answer, ...more] = served.answerRows([givenRow(row, 1, served.names)], 0)
          assert.equal(more.length, 0)
          assert.ok(answer.scores.every(Number.isFinite))
          counts.answered++
        } catch (error) {
          assert.ok(error instanceof RequestError, String(error))
          assert.match(error.message, /^row 1: found .+, expected .+/)
          assert.ok(error.message.length < 300)
          counts.refused++
        }
      }),
      { seed, numRuns: 2000 },
    )
    assert.ok(counts.answered > 20 && counts.refused > 200, JSON.stringify(counts))
  })

  it('have the scores of their features, whatever shape they have', () => {
    const entries = fc.uniqueArray(fc.tuple(fc.nat({ max: 6 }), fc.float({ noNaN: true, min: -100, max: 100 })), {
      selector: ([j]) => j,
    })
    fc.assert(
      fc.property(entries, pairs => {
        const sorted = pairs.toSorted(([a], [b]) => a - b)
        const expected = scoreRow(
          served.model,
          sorted.map(([j]) => j),
          sorted.map(([, x]) => x),
        )
        const dense = Array.from({ length: 7 }, (_, j) => pairs.find(([k]) => k === j)?.[1] ?? 0)
        const features = Object.fromEntries(pairs.map(([j, x]) => [j + 1, x]))
        const sideBySide = { indices: pairs.map(([j]) => j + 1), values: pairs.map(([, x]) => x) }
        for (const row of [features, { features }, sideBySide, dense]) {
          const [{ scores }] = [...served.answerRows([givenRow(row, 1, served.names)], 0)]
          assert.deepEqual([...scores], [...expected])
        }
      }),
      { seed, numRuns: 200 },
    )
  })
})

describe('bodies of requests', () => {
  it('are read as whole lines, wherever they are cut on their way', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 9 }), { maxLength: 40 }),
        fc.nat({ max: 50 }),
        async (texts, cut) => {
          const body = Buffer.from(texts.map(text => text.replaceAll('\n', ' ').repeat(900)).join('\n'))
          const chunks: Buffer[] = []
          const size = 1 + cut * 4001
          for (let at = 0; at < body.length; at += size) chunks.push(body.subarray(at, at + size))
          const room = new BodyRoom(1 << 24)
          const limits = { mostBytes: 1 << 20, room, metrics: new Metrics() }
          const pieces: string[] = []
          for await (const piece of wholeLines(Readable.from(chunks) as IncomingMessage, limits))
            pieces.push(piece.toString())
          for (const piece of pieces) assert.ok(piece.endsWith('\n'))
          assert.ok([body.toString(), `${body}\n`].includes(pieces.join('')))
          // All that was taken was given back.
          room.take(1 << 24)
        },
      ),
      { seed, numRuns: 60 },
    )
  })

  it('take no more memory together than there is for them', () => {
    const room = new BodyRoom(100)
    room.take(60)
    assert.throws(() => room.take(41), { name: 'RequestError', status: 503, headers: { 'retry-after': '1' } })
    room.take(40)
    room.give(60)
    room.take(60)
  })
})
