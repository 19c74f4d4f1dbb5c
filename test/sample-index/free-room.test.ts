// Room in pieces: what is handed out never overlaps, and all of it comes back as one piece.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FreeRoom } from '../../src/sample-index/free-room.ts'

const START = 640
const BYTES = 1 << 20

describe('room in pieces', () => {
  it('is all there at first, and not a byte more', () => {
    const room = new FreeRoom(START, BYTES)
    assert.equal(room.take(BYTES + 64), undefined)
    assert.equal(room.take(BYTES), START)
    assert.equal(room.take(64), undefined)
  })

  it('never hands out the same byte twice, and joins what comes back', () => {
    const room = new FreeRoom(START, BYTES)
    const owner = new Int32Array((START + BYTES) / 64).fill(-1)
    const held: { at: number; bytes: number; id: number }[] = []
    let state = 7
    const random = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state % below
    }
    let refused = 0
    for (let id = 0; id < 20_000; id++) {
      const bytes = 64 * (1 + random(id % 3 ? 40 : 400))
      const at = room.take(bytes)
      if (at !== undefined) {
        assert.ok(at >= START && at + bytes <= START + BYTES)
        for (let line = at / 64; line < (at + bytes) / 64; line++) {
          assert.equal(owner[line], -1, `line ${line} has an owner`)
          owner[line] = id
        }
        held.push({ at, bytes, id })
        continue
      }
      refused++
      const [back] = held.splice(random(held.length), 1)
      owner.fill(-1, back.at / 64, (back.at + back.bytes) / 64)
      room.giveBack(back.at, back.bytes)
    }
    assert.ok(refused > 1000 && held.length > 0)
    for (const { at, bytes } of held) room.giveBack(at, bytes)
    assert.equal(room.take(BYTES), START, 'it is one piece again')
  })
})
