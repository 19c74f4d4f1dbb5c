// Expansions: worked examples, the compiled loops against the plain ones, and the product of two expanded rows against the
// formula that says what it is.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SpillwayError, UsageError } from '../../src/errors.ts'
import { allExpansions } from '../../src/features/all-expansions.ts'
import { parseExpansion } from '../../src/features/expansion-steps.ts'
import { hashOf } from '../../src/features/hash.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { seed } from '../numeric/reference.ts'
import { anyString, expanded, letters, type PlainRow, product, sparseRow } from './expanding.ts'

const arena = new Arena()
const mark = arena.mark()

/** The loops against ExpansionStep.expandRow, for values of both widths. */
function sameAsPlain(text: string, rows: PlainRow[], widths: (4 | 8)[] = [4, 8]): void {
  const steps = parseExpansion(text)
  for (const valueBytes of widths) {
    arena.release(mark)
    const round = valueBytes === 4 ? Math.fround : (x: number): number => x
    const found = expanded(text, rows, valueBytes, arena)
    rows.forEach((row, r) => {
      const plain = steps.expandRow({ indices: row.indices.map(BigInt), values: row.values }, round)
      assert.deepEqual(found[r], { indices: plain.indices.map(Number), values: plain.values }, `row ${r}`)
    })
  }
}

describe('weighted degree', () => {
  it('of ACG: every string of up to three letters, where it stands', () => {
    const { text, steps } = parseExpansion('weighted-degree:3')
    assert.equal(text, 'weighted-degree:3')
    // 4 + 16 + 64 = 84 features a position: A 0…3, then pairs from 4, then triples from 20.
    assert.deepEqual(expanded(text, [letters('ACG')]), [
      {
        indices: [0, 4 + 1, 20 + 0 * 16 + 1 * 4 + 2, 84 + 1, 84 + 4 + 1 * 4 + 2, 168 + 2],
        values: [1, 1, 1, 1, 1, 1],
      },
    ])
    assert.equal(steps[0].features(3), 252)
    // The paper's numbers: 200 letters, degree 8.
    assert.equal(parseExpansion('weighted-degree:8').features(200), 17_476_000)
  })

  it('passes over strings with a letter that the alphabet does not have, and over gaps', () => {
    const [plain] = expanded('weighted-degree:2', [letters('ANC')])
    assert.deepEqual(plain.indices, [0, 2 * 20 + 1])
    // Position 1 is missing: A at 0 and C at 2 are no neighbours.
    const [gap] = expanded('weighted-degree:2', [{ indices: [0, 2], values: [65, 67] }])
    assert.deepEqual(gap.indices, [0, 41])
    // Values that are no bytes are no letters.
    const [odd] = expanded('weighted-degree:1', [{ indices: [0, 1, 2, 3], values: [-65, 300, 1e30, 65] }])
    assert.deepEqual(odd.indices, [12])
  })

  it('is the same as the plain loop, for any alphabet and degree', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(
          ...[1, 2, 3, 5, 8].map(d => `weighted-degree:${d}`),
          'weighted-degree:4:01',
          'weighted-degree:3:acdefghiklmnpqrstvwy',
        ),
        fc.array(fc.oneof(anyString('ACGTN'), anyString('01'), anyString('ACDEFGHIKLMNPQRSTVWYX*')), { maxLength: 8 }),
        (text, strings) => sameAsPlain(text, strings.map(letters)),
      ),
      { seed, numRuns: 300 },
    )
  })

  it('of two strings: their product counts the strings that they share, place by place', () => {
    fc.assert(
      fc.property(anyString('ACGTN', 30), anyString('ACGTN', 30), fc.integer({ min: 1, max: 8 }), (a, b, degree) => {
        let shared = 0
        for (let p = 0; p < a.length; p++) {
          for (let k = 1; k <= degree && p + k <= Math.min(a.length, b.length); k++) {
            const string = a.slice(p, p + k)
            if (string === b.slice(p, p + k) && !string.includes('N')) shared++
          }
        }
        const [x, z] = expanded(`weighted-degree:${degree}`, [letters(a), letters(b)])
        assert.equal(product(x, z), shared)
      }),
      { seed, numRuns: 200 },
    )
  })

  it('names a feature by position and letters', () => {
    const steps = parseExpansion('weighted-degree:8')
    const [{ indices }] = expanded(steps.text, [letters('GATTACAG')])
    const names = indices.map(feature => steps.nameOf(feature, position => String(position + 1)))
    assert.deepEqual(names.slice(0, 9), [
      ...['1:G', '1:GA', '1:GAT', '1:GATT', '1:GATTA', '1:GATTAC', '1:GATTACA', '1:GATTACAG'],
      '2:A',
    ])
    assert.equal(names.at(-1), '8:G')
  })

  it('refuses a string whose features pass 2^32, unless they are hashed', () => {
    const long = letters('A'.repeat(49_153))
    expanded('weighted-degree:8', [letters('A'.repeat(49_152))])
    assert.throws(
      () => expanded('weighted-degree:8', [long]),
      (error: SpillwayError) => {
        assert.match(
          error.message,
          /more letters than weighted-degree:8 has feature numbers for: 87380 a position, so at most 49152 letters/,
        )
        assert.match(error.advice ?? '', /lower degree, or hash the features: \+hash:22/)
        return true
      },
    )
    assert.throws(() => parseExpansion('weighted-degree:8').features(49_153), SpillwayError)
    sameAsPlain('weighted-degree:8+hash:20', [letters('A'.repeat(49_153))])
  })
})

describe('polynomial features', () => {
  it('of a row of three: worked out by hand', () => {
    const row = { indices: [0, 1, 3], values: [2, 3, 5] }
    const [{ indices, values }] = expanded('polynomial:2', [row], 8)
    // Feature 0 starts at 0, feature 1 at 2, feature 3 at 9.
    assert.deepEqual(indices, [0, 1, 2, 3, 4, 9, 10, 11, 13])
    assert.deepEqual(values, [2, 4, 3, Math.SQRT2 * 6, 9, 5, Math.SQRT2 * 10, Math.SQRT2 * 15, 25])
    assert.equal(parseExpansion('polynomial:2').features(4), 14)
  })

  it('is the same as the plain loop', () => {
    fc.assert(
      fc.property(fc.array(sparseRow(92_680), { maxLength: 6 }), rows => sameAsPlain('polynomial:2', rows)),
      { seed, numRuns: 200 },
    )
  })

  it('of two rows: their product is xᵀz + (xᵀz)²', () => {
    fc.assert(
      fc.property(sparseRow(20), sparseRow(20), (a, b) => {
        const [x, z] = expanded('polynomial:2', [a, b], 8)
        const before = product(a, b)
        assert.ok(Math.abs(product(x, z) - (before + before * before)) <= 1e-9 * (1 + before * before) + 1e-4)
      }),
      { seed, numRuns: 200 },
    )
  })

  it('gives every feature and every product a number of its own, and a name', () => {
    const features = 40
    const row = { indices: [...Array(features).keys()], values: Array(features).fill(1) }
    const [{ indices }] = expanded('polynomial:2', [row])
    assert.deepEqual(
      indices,
      [...Array(parseExpansion('polynomial:2').features(features)).keys()],
      'no number is left out',
    )
    const names = indices.map(feature => parseExpansion('polynomial:2').nameOf(feature, j => String(j + 1)))
    assert.deepEqual(names.slice(0, 9), ['1', '1*1', '2', '1*2', '2*2', '3', '1*3', '2*3', '3*3'])
    assert.equal(new Set(names).size, names.length)
    const last = parseExpansion('polynomial:2').features(92_680) - 1
    assert.equal(parseExpansion('polynomial:2').nameOf(last, String), '92679*92679')
  })

  it('refuses features whose products pass 2^32, unless they are hashed', () => {
    const beyond = { indices: [7, 92_680], values: [1, 2] }
    expanded('polynomial:2', [{ indices: [92_679], values: [1] }])
    assert.throws(
      () => expanded('polynomial:2', [beyond]),
      (error: SpillwayError) => {
        assert.match(error.message, /more than 92680 features, and the numbers of their products pass 2\^32/)
        assert.match(error.advice ?? '', /polynomial:2\+hash:22/)
        return true
      },
    )
    assert.throws(() => parseExpansion('polynomial:2').features(92_681), SpillwayError)
    sameAsPlain('polynomial:2+hash:12', [beyond, { indices: [3, 4_294_967_293], values: [1, 2] }])
  })

  it('refuses products that no value can hold, and rows that would not end', () => {
    assert.throws(
      () => expanded('polynomial:2', [{ indices: [1], values: [3e19] }]),
      /products pass the largest number/,
    )
    expanded('polynomial:2', [{ indices: [1], values: [3e19] }], 8)
    const long = { indices: [...Array(12_000).keys()], values: Array(12_000).fill(1) }
    assert.throws(() => expanded('polynomial:2', [long]), /a row becomes longer than 67108864 entries by polynomial:2/)
  })
})

describe('hashing', () => {
  it('is the same as the plain loop, for rows of every length and any number of bits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 31 }),
        fc.array(fc.oneof(sparseRow(4_294_967_294), sparseRow(50)), { maxLength: 6 }),
        (bits, rows) => sameAsPlain(`hash:${bits}`, rows),
      ),
      { seed, numRuns: 200 },
    )
    // Few entries, some, many: each is sorted in another way.
    for (const count of [39, 40, 41, 500, 1499, 1500, 4000]) {
      const row = {
        indices: Array.from({ length: count }, (_, k) => k * 977),
        values: Array.from({ length: count }, (_, k) => Math.fround(Math.sin(k) + 1.5)),
      }
      for (const bits of [5, 11, 16, 22, 31]) sameAsPlain(`hash:${bits}`, [row, row])
    }
  })

  it('adds up what meets, and drops what cancels out', () => {
    const numbers = [...Array(1000).keys()]
    const signOf = (number: number): number => hashOf(BigInt(number), 1).sign
    const bucket = numbers.filter(number => hashOf(BigInt(number), 1).bucket === 0n)
    const plus = bucket.filter(number => signOf(number) === 1)
    const minus = bucket.filter(number => signOf(number) === -1)
    const sorted = (list: number[]): PlainRow => ({ indices: list.sort((a, b) => a - b), values: list.map(() => 1) })
    assert.deepEqual(expanded('hash:1', [sorted(plus.slice(0, 2))]), [{ indices: [0], values: [2] }])
    assert.deepEqual(expanded('hash:1', [sorted([plus[0], minus[0]])]), [{ indices: [], values: [] }])
  })

  it('spreads features evenly, and signs too', () => {
    const bits = 6
    const counts = new Array(2 ** bits).fill(0)
    let plus = 0
    for (let index = 0; index < 64_000; index++) {
      const { bucket, sign } = hashOf(BigInt(index), bits)
      counts[Number(bucket)]++
      if (sign === 1) plus++
    }
    // 1000 are expected of each; five standard deviations are 160.
    for (const count of counts) assert.ok(Math.abs(count - 1000) < 160, `${count}`)
    assert.ok(Math.abs(plus - 32_000) < 700)
  })

  it('keeps products of rows on average', () => {
    const strings = ['GATTACAGATTACAGATTACA', 'GATTACAGGTTACAGATCACA'].map(letters)
    const exact = product(...(expanded('weighted-degree:6', strings) as [PlainRow, PlainRow]))
    const hashed = product(...(expanded('weighted-degree:6+hash:24', strings) as [PlainRow, PlainRow]))
    assert.equal(hashed, exact, 'with so many places nothing meets here')
    sameAsPlain('weighted-degree:6+hash:7', strings)
    // Strings have floats as values, whatever the width of their letters.
    sameAsPlain('weighted-degree:2+polynomial:2+hash:9', strings, [4])
  })

  it('tells where many features fall at once', () => {
    const list = Uint32Array.from({ length: 100 }, (_, k) => k * 40_000_000)
    const at = arena.allocate(800, 'a test')
    arena.u32(at, 100).set(list)
    arena.numeric.hashFeatures(at, 100, 18, at + 400)
    assert.deepEqual(
      [...arena.u32(at + 400, 100)],
      Array.from(list, feature => Number(hashOf(BigInt(feature), 18).bucket)),
    )
  })
})

describe('pieces', () => {
  it('come in the order of the rows, however long these are', () => {
    const random = Array.from({ length: 700 }, (_, k) => letters('ACGT'.repeat(100).slice(0, (k * 131) % 400)))
    sameAsPlain('weighted-degree:8', random)
    // One row is longer than a piece, between short ones.
    const long = { indices: [...Array(500).keys()], values: Array(500).fill(1) }
    const short = { indices: [3, 5], values: [1, 2] }
    sameAsPlain('polynomial:2', [short, long, short, { indices: [], values: [] }, long])
    sameAsPlain('polynomial:2+hash:10', [short, long, short, long])
  })
  it('are none of an empty batch', () => assert.deepEqual(expanded('hash:4', []), []))
})

describe('what --expand says', () => {
  it('comes back in full', () => {
    const same = ['weighted-degree:8', 'polynomial:2', 'hash:22', 'weighted-degree:2:XYZ+polynomial:2+hash:30']
    for (const text of same) assert.equal(parseExpansion(text).text, text)
    assert.equal(parseExpansion('weighted-degree:3:acgt').text, 'weighted-degree:3')
    assert.equal(parseExpansion('chi2-map:1000').text, 'chi2-map')
    assert.equal(parseExpansion('intersection-map:0020').text, 'intersection-map:20')
  })

  const refused: [text: string, message: RegExp][] = [
    [
      '',
      /--expand has ""; expected one of weighted-degree:D\[:ALPHABET\], polynomial:2, chi2-map\[:BINS\], intersection-map\[:BINS\], hash:BITS/,
    ],
    ['fourier:3', /--expand has "fourier:3"; expected one of/],
    ['weighted-degree', /expected weighted-degree:D or weighted-degree:D:ALPHABET with a degree D from 1 to 8/],
    ['weighted-degree:0', /has "weighted-degree:0"; expected/],
    ['weighted-degree:9', /from 1 to 8/],
    ['weighted-degree:2.5', /from 1 to 8/],
    ['weighted-degree:2:A', /has the alphabet "A"; expected 2 to 32 different letters/],
    ['weighted-degree:2:AaC', /different letters/],
    ['weighted-degree:2:AC#', /different letters/],
    ['weighted-degree:8:ACDEFGHIKLMNPQRSTVWY', /20 letters make 26947368420 features a position/],
    ['polynomial:3', /has "polynomial:3"; expected polynomial:2/],
    ['polynomial', /expected polynomial:2/],
    ['chi2-map:', /has "chi2-map:"; expected chi2-map or chi2-map:BINS with 2 to 65535 bins/],
    ['chi2-map:1', /2 to 65535 bins/],
    ['intersection-map:65536', /expected intersection-map or intersection-map:BINS with 2 to 65535 bins/],
    ['intersection-map:9:9', /2 to 65535 bins/],
    ['hash:0', /expected hash:BITS with 1 to 31 bits/],
    ['hash:32', /1 to 31 bits/],
    ['hash', /1 to 31 bits/],
    ['hash:8+polynomial:2', /has polynomial:2 after hash:8; hashing comes last/],
    ['hash:8+hash:4', /hashing comes last/],
    ['polynomial:2+weighted-degree:2', /made of letters, so it comes first/],
    ['polynomial:2+', /--expand has ""/],
  ]
  for (const [text, message] of refused) {
    it(`"${text}" is refused with what can be`, () => {
      assert.throws(
        () => parseExpansion(text),
        (error: Error) => error instanceof UsageError && message.test(error.message),
      )
    })
  }

  it('has an example for every expansion of the list', () => {
    for (const { name, takes } of allExpansions) {
      assert.doesNotThrow(() =>
        parseExpansion(
          name +
            takes
              .replace(/^:D.*/, ':3')
              .replace('BITS', '9')
              .replace('[:BINS]', '')
              .replace(/^:NAME.*/, ':chi2:projection:2:chebyshev:50'),
        ),
      )
    }
  })
})
