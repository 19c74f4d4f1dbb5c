// The tables of structures, and what is made from them: constants for both compilers, and accessors.
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { madeFiles } from '../../scripts/build-layouts.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { allLayoutFiles, allStructures } from '../../src/numeric/structures/all-structures.ts'
import {
  faultsOf,
  type PlacedField,
  placeFields,
  type Structure,
  sizeOf,
} from '../../src/numeric/structures/structure.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const made = madeFiles()

type Accessors = Record<string, number | bigint | ArrayLike<number | bigint>> & { at: number }
type AccessorClass = new (arena: Arena, at: number) => Accessors

/** The classes of all made files, by their names. */
async function accessorClasses(): Promise<Map<string, AccessorClass>> {
  const files = [...made.keys()].filter(path => path.includes('/fields/'))
  const modules = await Promise.all(files.map(path => import(join(root, path))))
  return new Map(modules.flatMap(module => Object.entries(module) as [string, AccessorClass][]))
}

const memberOf = (name: string): string =>
  name
    .toLowerCase()
    .split('_')
    .map((word, k) => (k === 0 ? word : word[0].toUpperCase() + word.slice(1)))
    .join('')

/** Reads a single number without the accessors. */
function numberAt(arena: Arena, at: number, { scalar }: PlacedField): number | bigint {
  const bytes = arena.bytes(at, 8).slice()
  if (scalar === 'u8') return bytes[0]
  if (scalar === 'u16') return new Uint16Array(bytes.buffer)[0]
  if (scalar === 'u32') return new Uint32Array(bytes.buffer)[0]
  return scalar === 'u64' ? new BigUint64Array(bytes.buffer)[0] : new Float64Array(bytes.buffer)[0]
}

describe('files made from tables', () => {
  it('are what `npm run layouts` makes', () => {
    for (const [path, text] of made) {
      assert.equal(readFileSync(join(root, path), 'utf8'), text, `${path} is not up to date: run npm run layouts`)
    }
  })

  it('are the only ones of their kind', () => {
    const fields = readdirSync(join(root, 'src/numeric/fields')).map(name => `src/numeric/fields/${name}`)
    const constants = readdirSync(join(root, 'src/numeric')).filter(name => /layouts?\.ts$/.test(name))
    const found = [...fields, ...constants.map(name => `src/numeric/${name}`)]
    assert.deepEqual(found.sort(), [...made.keys()].sort())
  })

  it('have each name once', () => {
    const names = [...made].flatMap(([path, text]) =>
      [...text.matchAll(/^export (?:const|class) (\w+)/gm)].map(([, name]) => `${basename(path)} ${name}`),
    )
    assert.ok(names.length > 400)
    const bare = names.map(name => name.split(' ')[1])
    assert.deepEqual(
      bare.filter((name, k) => bare.indexOf(name) !== k),
      [],
    )
  })
})

describe('tables of structures', () => {
  it('have no faults', () => {
    assert.ok(allStructures.length > 20)
    assert.deepEqual(allStructures.flatMap(faultsOf), [])
  })

  const good: Structure = {
    structure: 'Test',
    prefix: 'TEST_',
    fields: [
      ['COUNT', 'u32', 'a count.'],
      ['LIST', 'address of u32[count]'],
      ['SUMS', 'f64[3]', 'sums.'],
    ],
  }
  const withFields = (...fields: Structure['fields']): Structure => ({ ...good, fields: [...good.fields, ...fields] })

  it('are placed one field after the other', () => {
    assert.deepEqual(faultsOf(good), [])
    assert.deepEqual(
      placeFields(withFields(['LAST', 'u32', '', { at: 40 }])).map(({ constant, at, bytes }) => [constant, at, bytes]),
      [
        ['TEST_COUNT', 0, 4],
        ['TEST_LIST', 4, 4],
        ['TEST_SUMS', 8, 24],
        ['TEST_LAST', 40, 4],
      ],
    )
  })

  it('are refused when fields overlap', () => {
    assert.deepEqual(faultsOf(withFields(['LATE', 'u64', '', { at: 24 }])), ['TEST_SUMS and TEST_LATE overlap'])
    assert.deepEqual(faultsOf(withFields(['LATE', 'u32', '', { at: 4 }])), [
      'TEST_LIST and TEST_LATE overlap',
      'TEST_SUMS ends at byte 32, beyond TEST_BYTES, 8',
    ])
  })

  it('are refused when a field is not aligned to its size', () => {
    const faults = faultsOf(withFields(['FLAG', 'u32'], ['LATE', 'f64']))
    assert.equal(faults[0], 'TEST_LATE begins at byte 36, which is no multiple of its 8 bytes')
  })

  it('are refused when the size leaves out the end', () => {
    assert.deepEqual(faultsOf({ ...good, size: { bytes: 24 } }), ['TEST_SUMS ends at byte 32, beyond TEST_BYTES, 24'])
  })

  it('are refused when a second record would not be aligned', () => {
    assert.deepEqual(faultsOf(withFields(['LATE', 'u32'])), [
      "TEST_BYTES, 36, is no multiple of the widest field's 8 bytes",
    ])
  })

  it('keep the places of what is in files', () => {
    const places = (name: string): string =>
      placeFields(allStructures.find(({ structure }) => structure === name)!)
        .map(({ name, at, scalar, count }) => `${at} ${scalar}${count ? `[${count}]` : ''} ${name}`)
        .join(', ')
    const advice =
      'stores or training states of before mean something else now: raise SEGMENT_VERSION_VALUE or LAYOUT_VERSION'
    assert.equal(
      places('Row'),
      '0 u32 COUNT, 4 u32 KIND, 8 f64 SCALE, 16 f64 NORM, 24 u32 CLASS, 28 u32 DICTIONARY',
      advice,
    )
    assert.equal(places('Ledger'), '0 f64 DUAL, 8 f64 SUPPORT, 16 f64 CORRECT, 24 f64[16] OWED', advice)
    assert.equal(
      places('Segment'),
      [
        '0 u32 MAGIC, 4 u16 VERSION, 6 u16 ORDER, 8 u8 FLAGS, 9 u8 LENGTH_CODEC, 10 u8 POSITION_CODEC',
        '11 u8 LABEL_CODEC, 12 u8 INDEX_CODEC, 13 u8 VALUE_CODEC, 14 u8 VALUE_BYTES, 15 u8 STORED_BYTES',
        '16 u32 ROWS, 20 u32 FEATURES, 24 u64 NONZEROS, 32 u64 BASE_POSITION, 40 u64 PAYLOAD_BYTES',
        '48 u64 RAW_BYTES, 56 u32 BLOCK, 60 u8 WEIGHT_CODEC, 64 u64 PAYLOAD_HASH, 72 u64 HEADER_HASH',
      ].join(', '),
      advice,
    )
  })
})

describe('accessors', async () => {
  const classes = await accessorClasses()
  const constants = new Map<string, number>(
    (await Promise.all(allLayoutFiles.map(({ file }) => import(join(root, 'src/numeric', file))))).flatMap(module =>
      Object.entries(module as Record<string, number>),
    ),
  )

  it('are all in use', () => {
    const users = globSync('src/**/*.ts', { cwd: root, exclude: ['src/numeric/fields/**'] })
    const text = users.map(path => readFileSync(join(root, path), 'utf8')).join('\n')
    assert.deepEqual(
      [...classes.keys()].filter(name => !text.includes(`new ${name}(`)),
      [],
      'a structure without users of its accessors says accessors: false',
    )
  })

  for (const structure of allStructures.filter(({ accessors }) => accessors !== false)) {
    it(`of ${structure.structure} read and write their fields and nothing else`, () => {
      const arena = new Arena()
      const room = sizeOf(structure).bytes + 64
      const at = arena.allocateZeroed(room, 'test')
      const AccessorsOf = classes.get(`${structure.structure}Fields`)!
      const fields = new AccessorsOf(arena, at)
      assert.equal(fields.at, at)
      for (const field of placeFields(structure)) {
        const member = memberOf(field.name)
        const place = at + constants.get(field.constant)!
        if (field.count !== undefined) {
          const list = fields[member] as unknown as Uint8Array
          assert.equal(list.byteOffset, place)
          assert.equal(list.byteLength, field.bytes)
          continue
        }
        const value = { u8: 0xa5, u16: 0xa5a6, u32: 0xa5a6a7a8, u64: 0xa5a6a7a8a9aaabacn, f64: -1 / 3 }[
          field.scalar as Exclude<PlacedField['scalar'], 'v128'>
        ]
        fields[member] = value
        assert.equal(numberAt(arena, place, field), value)
        assert.equal(fields[member], value)
        arena.bytes(place, field.bytes).fill(0)
        assert.ok(
          arena.bytes(at, room).every(byte => byte === 0),
          `${field.constant} is all that was written`,
        )
      }
    })
  }
})
