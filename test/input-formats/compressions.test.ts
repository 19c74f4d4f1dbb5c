// Compressed text: what other programs packed is read, several streams in one file too, and what is damaged costs one clear error.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SpillwayError } from '../../src/errors.ts'
import { openSource } from '../../src/input-formats/byte-source.ts'
import { bunzip2 } from '../../src/input-formats/bzip2-blocks.ts'
import { decompressLz4Frame } from '../../src/input-formats/lz4-frames.ts'
import { textSize } from '../../src/input-formats/text-size.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from './fixture.ts'
import { packed, packedText } from './packed-text.ts'

const folder = testFolder()
const text = packedText()

async function contentOf(path: string): Promise<Buffer> {
  const source = await openSource(path)
  const pieces: Buffer[] = []
  try {
    for (;;) {
      const piece = Buffer.alloc(100_000)
      const filled = await source.read(piece)
      pieces.push(piece.subarray(0, filled))
      if (filled < piece.length) return Buffer.concat(pieces)
    }
  } finally {
    await source.close()
  }
}

async function refused(path: string, pattern: RegExp): Promise<void> {
  await assert.rejects(contentOf(path), error => {
    assert.ok(error instanceof SpillwayError, String((error as Error).stack))
    assert.match(error.message, pattern)
    assert.ok(error.advice)
    return true
  })
}

for (const [kind, ending] of [
  ['bzip2', 'bz2'],
  ['xz', 'xz'],
]) {
  describe(`${kind} data`, () => {
    const whole = packed(`rows.${ending}`)

    it('is read by its content, whatever its name is', async () => {
      assert.deepEqual(await contentOf(folder.write(`rows.svm.${ending}`, whole)), text)
      assert.deepEqual(await contentOf(folder.write('rows', whole)), text)
    })

    it('may have several streams', async () => {
      const path = folder.write(`several.${ending}`, Buffer.concat([whole, whole, whole]))
      assert.deepEqual(await contentOf(path), Buffer.concat([text, text, text]))
    })

    it('gives the model of the plain text', async () => {
      const modelOf = async (path: string) => (await train(path, { threads: 2 }).result).model.weights
      const plain = await modelOf(folder.write('rows.svm', text))
      assert.deepEqual(await modelOf(folder.write(`rows.svm.${ending}`, whole)), plain)
    })

    it('can be closed in the middle, and opened again', async () => {
      const path = folder.write('again', Buffer.concat([whole, whole]))
      for (let k = 0; k < 3; k++) {
        const source = await openSource(path)
        assert.equal(await source.read(Buffer.alloc(1000)), 1000)
        await source.close()
      }
      const [a, b] = [await openSource(path), await openSource(path)]
      const [one, other] = [Buffer.alloc(50_000), Buffer.alloc(50_000)]
      await Promise.all([a.read(one), b.read(other)])
      assert.deepEqual(one, other)
      await Promise.all([a.close(), b.close()])
    })

    it('costs one error where it is cut short', async () => {
      for (const part of [0.01, 0.3, 0.7, 0.999]) {
        const path = folder.write('short', whole.subarray(0, Math.ceil(whole.length * part)))
        await refused(
          path,
          new RegExp(`short: the ${kind} data is damaged or cut short \\(.+\\), after \\d+ compressed`),
        )
      }
    })

    it('costs one error where it is damaged, or something else follows it', async () => {
      let found = 0
      for (let k = 0; k < 12; k++) {
        const bytes = Buffer.from(whole)
        const at = 12 + ((k * 7919) % (whole.length - 24))
        bytes.fill((k * 57 + bytes[at] + 1) % 256, at, at + 1 + (k % 4))
        await refused(folder.write('damaged', bytes), new RegExp(`the ${kind} data is damaged`))
        found++
      }
      assert.equal(found, 12)
      await refused(folder.write('more', Buffer.concat([whole, Buffer.from('and more')])), /damaged or cut short/)
    })

    it('may be a bomb: it is read piece by piece', async () => {
      const source = await openSource(folder.write('zeros', packed(`zeros.${ending}`)))
      const piece = Buffer.alloc(1 << 20)
      const before = process.memoryUsage().arrayBuffers
      let bytes = 0
      for (;;) {
        const filled = await source.read(piece)
        bytes += filled
        assert.ok(process.memoryUsage().arrayBuffers - before < 64 << 20)
        if (filled < piece.length) break
      }
      await source.close()
      assert.equal(bytes, 16 << 20)
    })

    it('is taken for about as much text as it has, before it is read', async () => {
      const size = await textSize(folder.write(`size.${ending}`, whole))
      if (kind === 'xz') assert.equal(size, text.length)
      else assert.equal(size, whole.length * 10)
    })
  })
}

describe('xz data that is whole', () => {
  it('is not called damaged where it needs what is not there', async () => {
    const kinds: [base64: string, what: string][] = [
      // xz --check=sha256, then --delta, then a dictionary of 256 MiB.
      [
        '/Td6WFoAAArh+wyhAgAhARYAAAB0L+WjAQAMMSAxOjEKLTEgMjoxCgAAAADdnLhL7uQzhnnkVyOLt17Zk/54ERcBDC1Bil3bFN2M8QABPQ0ogd80GJtLmgEAAAAAClla',
        'it uses filters or checksums that are not supported',
      ],
      [
        '/Td6WFoAAATm1rRGAgEDAQAhAQAolRAaAQAMMe8RCffZIwTvEgj32QAAAAAeVGqVYRAyiAABJQ1xGcS2H7bzfQEAAAAABFla',
        'it uses filters or checksums that are not supported',
      ],
      [
        '/Td6WFoAAATm1rRGAgAhASAAAAAJiKV2AQAMMSAxOjEKLTEgMjoxCgAAAAAeVGqVYRAyiAABJQ1xGcS2H7bzfQEAAAAABFla',
        'its dictionary is larger than 64 MiB',
      ],
    ]
    for (const [base64, what] of kinds) {
      const path = folder.write('whole.xz', Buffer.from(base64, 'base64'))
      await refused(path, new RegExp(`whole\\.xz: the xz data cannot be read: ${what}$`))
    }
  })
})

describe('a hostile bzip2 block', () => {
  it('ends with an error, where a run is longer than any block', async () => {
    // The head of a stream and a block, one byte that is used, two tables whose symbols have one bit, then ones without end.
    const bits = [
      ...['01000010', '01011010', '01101000', '00111001'],
      ...['001100010100000101011001001001100101001101011001', '0'.repeat(32), '0', '0'.repeat(24)],
      ...[`1${'0'.repeat(15)}`, `1${'0'.repeat(15)}`, '010', '000000000000011', '000'],
      ...['00010', '0', '0', '0', '00010', '0', '0', '0', '01'.repeat(200)],
    ].join('')
    const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
    const input = (async function* () {
      yield bytes
    })()
    await assert.rejects(async () => {
      for await (const piece of bunzip2(input)) assert.ok(piece.length > 0)
    }, /longer than its level allows/)
  })
})

describe('an LZ4 frame', () => {
  const frame = packed('rows.lz4')

  it('is decompressed', () => {
    assert.deepEqual(Buffer.from(decompressLz4Frame(frame, text.length)), text)
  })

  it('is refused where it is cut short, damaged, or of another length', () => {
    assert.throws(() => decompressLz4Frame(frame, text.length - 1), /LZ4/)
    assert.throws(() => decompressLz4Frame(frame, text.length + 1), /shorter than it says/)
    for (let k = 1; k < 20; k++) {
      const short = frame.subarray(0, Math.floor((k * frame.length) / 20))
      assert.throws(() => decompressLz4Frame(short, text.length))
    }
  })
})
