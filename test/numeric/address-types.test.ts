// Addresses and counts of bytes are told apart by type. tsc checks this file: an expected error that does not come is one.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Arena } from '../../src/numeric/arena.ts'
import { PackFields } from '../../src/numeric/fields/pack.ts'
import { PACK_BYTES } from '../../src/numeric/layouts.ts'
import type { Address, ByteCount } from '../../src/sizes.ts'

describe('addresses and counts of bytes', () => {
  it('are refused in place of each other', () => {
    const arena = new Arena()
    const bytes: ByteCount = 128
    const at: Address = arena.allocate(bytes, 'test')
    // @ts-expect-error an address is no number of bytes
    const wrongBytes: ByteCount = at
    // @ts-expect-error a number of bytes is no address
    const wrongAddress: Address = bytes
    // @ts-expect-error a number of bytes is no address
    arena.bytes(bytes, 0)
    // @ts-expect-error an address is no number of bytes
    arena.allocate(at % 8 === 0 ? at : 0, 'test')
    assert.equal(wrongBytes, at)
    assert.equal(wrongAddress, bytes)
  })

  it('are refused by accessors too', () => {
    const arena = new Arena()
    const fields = new PackFields(arena, arena.allocateZeroed(PACK_BYTES, 'test'))
    const bytes: ByteCount = 64
    // @ts-expect-error the table is at an address
    fields.table = bytes
    // @ts-expect-error bytes were written, to an address
    const end: Address = fields.written
    assert.equal(end, 0)
  })

  it('take plain numbers', () => {
    const arena = new Arena()
    const at: Address = arena.allocate(8 * 4, 'test') + 16
    const rows = 2
    const bytes: ByteCount = rows * 8
    assert.equal(arena.bytes(at, bytes).length, 16)
  })
})
