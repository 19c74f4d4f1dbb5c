// What becomes of the cells of a table: numbers, names, words, missing cells, labels and weights; and what is refused.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { SpillwayError } from '../../src/errors.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { Landing, ValueList } from '../../src/rows/value-list.ts'
import { NODE_BYTES } from '../../src/sizes.ts'
import { featureName } from '../../src/tables/schema.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { type HowToRead, readTable } from './reading.ts'

const folder = testFolder()
let files = 0
const write = (text: string | Uint8Array, ending = 'csv'): string => folder.write(`t${files++}.${ending}`, text)
const read = (text: string | Uint8Array, options: HowToRead = {}) => readTable([write(text)], options)

/** Rows by the names of their features. */
async function named(text: string, options: HowToRead = {}) {
  const { schema, rows } = await read(text, options)
  return rows.map(row =>
    Object.fromEntries(Object.entries(row).map(([feature, value]) => [featureName(schema, Number(feature)), value])),
  )
}

async function refuses(text: string | Uint8Array, pattern: RegExp, options: HowToRead = {}): Promise<void> {
  await assert.rejects(read(text, options), error => {
    assert.ok(error instanceof SpillwayError, String(error))
    assert.match(error.message, pattern)
    return true
  })
}

describe('columns of a table', () => {
  it('are numbers where all cells are, and names else, in the order in which they are met', async () => {
    const { schema, rows, labels } = await read('y,age,town\n1,30,Bonn\n0,41.5,"Ulm, D"\n1,0,Bonn\n')
    assert.deepEqual(schema.columns, [
      { name: 'y', role: 'label' },
      { name: 'age', role: 'number', feature: 0 },
      { name: 'town', role: 'category', feature: 1, values: ['Bonn', 'Ulm, D'] },
    ])
    assert.deepEqual(rows, [{ 0: 30, 1: 1 }, { 0: 41.5, 2: 1 }, { 1: 1 }])
    assert.deepEqual(labels, ['1', '0', '1'])
  })

  it('have a feature for missing cells where there are some', async () => {
    assert.deepEqual(await named('y,age,town\n1,?,Bonn\n0,NA,null\n1,nan,\n0,3,x\n'), [
      { 'age is missing': 1, 'town=Bonn': 1 },
      { 'age is missing': 1, 'town is missing': 1 },
      { 'age is missing': 1, 'town is missing': 1 },
      { age: 3, 'town=x': 1 },
    ])
  })

  it('that turn out to be names late have all their numbers as names', async () => {
    const numbers = Array.from({ length: 40 }, (_, k) => `${k % 2},${k}`)
    const { schema } = await read(`y,code\n${numbers.join('\n')}\n1,A7\n0,B7\n1,C7\n0,D7\n1,E7\n`)
    const [, code] = schema.columns
    assert.ok(code.role === 'category')
    assert.equal(code.values.length, 45)
    assert.deepEqual(code.values.slice(0, 2), ['0', '1'])
  })

  it('turn out to be names in a later chunk, too, with values in the order of the text', async () => {
    const filler = 'x'.repeat(1000)
    const lines = Array.from({ length: 6000 }, (_, k) => `${k % 2},${k % 40},${filler}`)
    const late = Array.from({ length: 1000 }, (_, k) => `${k % 2},name${k % 3},${filler}`)
    const path = write(`y,code,filler\n${[...lines, ...late].join('\n')}\n`)
    const values = []
    for (const threads of [1, 2]) {
      const { schema } = await readTable([path], { threads, ignore: ['filler'] })
      const code = schema.columns[1]
      assert.ok(code.role === 'category')
      values.push(code.values)
    }
    const expected = [...Array.from({ length: 40 }, (_, k) => String(k)), 'name0', 'name1', 'name2']
    assert.deepEqual(values, [expected, expected])
  })

  it('of more than 65,536 names are hashed', async () => {
    const lines = Array.from({ length: 65_540 }, (_, k) => `${k % 2},n${k}`)
    const { schema, rows } = await read(`y,id\n${lines.join('\n')}\n`, { threads: 2 })
    assert.deepEqual(schema.columns[1], { name: 'id', role: 'hashed', feature: 0, bits: 18 })
    assert.equal(schema.features, 2 ** 18)
    assert.ok(rows.every(row => Object.keys(row).length === 1))
  })

  it('of exactly 65,536 names are listed', async () => {
    const lines = Array.from({ length: 65_536 }, (_, k) => `${k % 2},n${k}`)
    const { schema } = await read(`y,id\n${lines.join('\n')}\n`)
    assert.equal(schema.features, 65_536)
  })

  it('are hashed when that is asked for, and names that are numbers too', async () => {
    const text = 'y,zip,town,age\n1,53111,Bonn,3\n0,89073,Ulm,4\n1,53111,Bonn,5\n'
    const { schema, rows } = await read(text, { categorical: ['hash:10', 'zip'] })
    assert.deepEqual(
      schema.columns.map(({ role }) => role),
      ['label', 'hashed', 'hashed', 'number'],
    )
    assert.equal(schema.features, 2049)
    assert.deepEqual(Object.keys(rows[0]).slice(0, 2), Object.keys(rows[2]).slice(0, 2))
    const listed = await read(text, { categorical: ['zip'] })
    assert.deepEqual(listed.schema.columns[1], {
      name: 'zip',
      role: 'category',
      feature: 0,
      values: ['53111', '89073'],
    })
  })

  it('are the same however each is written, wherever it stands', async () => {
    const random = randomNumbers(11)
    const pick = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)]
    const name = (): string =>
      Array.from({ length: Math.floor(random() * 30) }, () => pick('a', 'B', '7', 'é', '-')).join('')
    const number = (): string =>
      `${pick('', '-')}${Math.floor(random() * 10 ** pick(1, 3, 6))}${pick('', '.5', '.0625')}`
    const cells = Array.from({ length: 400 }, () => {
      const names = [name(), pick('', 'NA', 'x,y', 'two\nlines', 'deadbeef'), name()]
      return [
        pick('1', '0', '-1', '1.0'),
        pick('', number(), number()),
        names[0],
        number(),
        names[1],
        names[2],
        number(),
      ]
    })
    const quoted = (cell: string): string => `"${cell}"`
    const needsQuotes = (cell: string): boolean => /[,\n]/.test(cell)
    const plain = (cell: string): string => (needsQuotes(cell) ? quoted(cell) : cell)
    const anyhow = (cell: string): string => pick(plain, plain, plain, quoted, (c: string) => ` ${plain(c)} `)(cell)
    const asText = (write: (cell: string) => string, end: () => string): string =>
      [['y', 'a', 'b', 'c', 'd', 'e', 'f'], ...cells].map(row => row.map(write).join(',') + end()).join('')
    const options = { categorical: ['hash:12', 'b', 'd', 'e'], label: 'y', header: 'yes' } as const
    const careful = await read(
      asText(quoted, () => '\n'),
      options,
    )
    assert.equal(careful.rows.length, cells.length)
    const written = [asText(plain, () => '\n'), asText(anyhow, () => pick('\n', '\r\n', '\n\n', '\n \n'))]
    for (const text of written) {
      const { rows, labels } = await read(text, { ...options, schema: careful.schema })
      assert.deepEqual(rows, careful.rows)
      assert.deepEqual(labels, careful.labels)
    }
  })

  it('of text have their words, each once, in lower case', async () => {
    const { rows } = await read('y,t\n1,"The cat, the CAT"\n0,cat the\n1,"a dog"\n0,\n', { text: ['t'] })
    assert.equal(Object.keys(rows[0]).length, 2)
    assert.deepEqual(rows[0], rows[1])
    assert.ok(Object.values(rows[0]).every(value => value === 1))
    assert.equal(Object.keys(rows[2]).length, 2)
    assert.deepEqual(rows[3], {})
  })

  it('are left out, are the label, and are the weight, by name or number', async () => {
    const text = 'a,b,c,d\n1,2,3,yes\n4,5,6,no\n'
    const { schema, rows, labels, weights } = await read(text, { label: 'd', ignore: ['2'], weight: 'c' })
    assert.deepEqual(
      schema.columns.map(({ role }) => role),
      ['number', 'ignored', 'weight', 'label'],
    )
    assert.deepEqual(rows, [{ 0: 1 }, { 0: 4 }])
    assert.deepEqual(labels, ['yes', 'no'])
    assert.deepEqual(weights, [3, 6])
  })

  it('have numbers for names without a header', async () => {
    const { schema, rows } = await read('1,2.5,red\n0,3,blue\n', { label: '1' })
    assert.deepEqual([schema.header, ...schema.columns.map(({ name }) => name)], [false, '1', '2', '3'])
    assert.deepEqual(rows, [
      { 0: 2.5, 1: 1 },
      { 0: 3, 2: 1 },
    ])
    const said = await read('1,2\n1,3\n2,4\n', { label: '1', header: 'yes' })
    assert.equal(said.rows.length, 2)
  })

  it('may be so many that their names are longer than the beginning that is looked at', async () => {
    const names = Array.from({ length: 12_000 }, (_, k) => `"the measure, number ${k}"`)
    const text = `${names.join(',')},label\n${'1,'.repeat(names.length)}a\n${'2,'.repeat(names.length)}b\n`
    const { schema, rows } = await read(text)
    assert.deepEqual([schema.header, schema.features, schema.columns.at(-1)?.role], [true, names.length, 'label'])
    assert.deepEqual(Object.keys(rows[1]).length, names.length)
  })

  it('take little memory for lists of values where they are many', () => {
    const arena = new Arena()
    const landing = new Landing(arena)
    const before = arena.allocate(8, 'a mark')
    const lists = Array.from({ length: 1000 }, () => new ValueList(arena, landing))
    const ofNumbers = arena.allocate(8, 'a mark')
    assert.ok(ofNumbers - before < 1000 * 128, `${ofNumbers - before} bytes`)
    const texts = ['AA', 'AG', 'GG']
    const at = arena.allocate(64, 'texts')
    for (const [k, text] of texts.entries()) arena.bytes(at + 8 * k, 2).set(Buffer.from(text))
    for (const list of lists) assert.ok(list.add(Uint32Array.from(texts.flatMap((_, k) => [at + 8 * k, 2]))))
    assert.ok(arena.allocate(8, 'a mark') - ofNumbers < 1000 * 512)
    assert.deepEqual(lists[999].texts(), texts)
  })

  it('keep values apart where those of a chunk fill a list exactly', () => {
    const arena = new Arena()
    const landing = new Landing(arena)
    const list = new ValueList(arena, landing)
    const at = arena.allocate(4000, 'texts')
    const texts = Array.from({ length: 400 }, (_, k) => `value ${k}`.padEnd(10))
    arena.bytes(at, 4000).set(Buffer.from(texts.join('')))
    const values = texts.flatMap((_, k) => [at + 10 * k, 10])
    // Room for values is 8, 32, 128 and so on.
    for (const [from, to] of [
      [0, 8],
      [8, 32],
      [32, 33],
      [33, 128],
      [128, 400],
    ])
      assert.ok(list.add(Uint32Array.from(values.slice(2 * from, 2 * to))))
    assert.equal(list.count, 400)
    assert.deepEqual(list.texts(), texts)
  })

  it('have numbers for names where the header has none', async () => {
    const { schema, rows } = await read(',x,y\n7,2.5,1\n8,3,0\n')
    assert.deepEqual([schema.header, ...schema.columns.map(({ name }) => name)], [true, '1', 'x', 'y'])
    assert.deepEqual(rows, [
      { 0: 7, 1: 2.5 },
      { 0: 8, 1: 3 },
    ])
    assert.deepEqual((await read('x,1,y\n2.5,7,1\n', { schema })).rows, [{ 0: 7, 1: 2.5 }])
    // A row of cells has numbers, too.
    assert.deepEqual((await read('1,2.5,1\n', { schema })).rows, [{ 0: 1, 1: 2.5 }])
    // Models of before have a column without a name.
    const before = {
      ...schema,
      columns: schema.columns.map((column, k) => (k === 0 ? { ...column, name: '' } : column)),
    }
    assert.deepEqual((await read('x,,y\n2.5,7,1\n', { schema: before })).rows, [{ 0: 7, 1: 2.5 }])
    assert.equal((await read(',x,y\n7,2.5,1\n8,3,0\n', { ignore: ['1'] })).schema.features, 1)
  })

  it('are read from gzip, with CRLF, a byte order mark and blank lines', async () => {
    const text = '\uFEFFy,x,c\r\n\r\n1,2,"a"\r\n \r\n0,3 , b\r\n'
    const expected = [
      { 0: 2, 1: 1 },
      { 0: 3, 2: 1 },
    ]
    assert.deepEqual((await read(text)).rows, expected)
    assert.deepEqual((await readTable([write(gzipSync(text), 'csv.gz')])).rows, expected)
  })

  it('may stand in another order in each file', async () => {
    const first = write('y,x,c\n1,2,a\n')
    const second = write('c;extra;x;y\nb;9;3;0\n')
    const { rows, labels } = await readTable([first, second])
    assert.deepEqual(rows, [
      { 0: 2, 1: 1 },
      { 0: 3, 2: 1 },
    ])
    assert.deepEqual(labels, ['1', '0'])
  })

  it('are read by the schema of other data: unknown names have no feature', async () => {
    const { schema } = await read('y,x,c\n1,2,a\n0,5,b\n')
    const { rows } = await read('c,x,y\nz,7,1\na,8,0\n', { schema })
    assert.deepEqual(rows, [{ 0: 7 }, { 0: 8, 1: 1 }])
    await refuses('c,y\nz,1\n', /has no column "x"; its columns are "c", "y"/, { schema })
    await refuses('Y,X,C\n1,2,a\n', /has no column "y", "x", "c"; its columns are "Y", "X", "C"/, { schema })
    await refuses('z,1\n', /found 2 columns and no header, expected the 3 columns y, x, c/, { schema })
  })

  it('give the same rows for any number of threads', async () => {
    const lines = Array.from({ length: 40_000 }, (_, k) => `${k % 3},${k * 0.37},"n ${k % 977}",${'w'.repeat(60)}`)
    const path = write(`label,x,c,d\n${lines.join('\n')}\n`)
    assert.deepEqual(await readTable([path], { threads: 2 }), await readTable([path], { threads: 1 }))
  })
})

describe('a table is refused', () => {
  it('without a label, or with one that is not there', async () => {
    await refuses('a,b\n1,2\n', /which column is the label\? the columns are "a", "b"/)
    await refuses('1,2\n3,4\n', /which column is the label\? the table has 2 columns and no header/)
    await refuses('a,b\n1,2\n', /label names the column "z"; the columns are "a", "b"/, { label: 'z' })
    await refuses('y,a\n,2\n1,3\n', /line 2, column 1: found an empty cell in column "y", expected a label/)
    await refuses('y,a\nvery good,2\n1,3\n', /found "very good" in column "y", expected a label .* blank/)
  })

  it('with rows of other widths', async () => {
    await refuses(
      'y,a,b\n1,2,3\n1,2\n',
      /line 3: found 2 columns, expected 3 columns: the first that is missing is "b"/,
    )
    await refuses(
      'y,a,b\n1,2,3\n1,2,3,4\n',
      /line 3: found more than 3 columns, expected 3 columns, the last of which is "b"/,
    )
    const { rows, badRows } = await read('y,a\n1,2\n1\n0,3\n', { onBadRow: 'skip' })
    assert.deepEqual(rows, [{ 0: 2 }, { 0: 3 }])
    assert.match(badRows[0], /line 3: found 1 column, expected 2 columns/)
  })

  it('with broken quotes', async () => {
    await refuses('y,a\n1,"x\n0,y\n', /line 2, column 3: found .* in column "a", expected another quote/)
    await refuses('y,a\n1,"x"y\n0,z\n', /line 2.*expected the end of the cell after its closing quote/)
    const long = `y,a\n1,x\n0,"z\n${'1,y\n'.repeat(1_500_000)}`
    await refuses(long, /line 3, column 3: found .* expected another quote/)
  })

  it('with numbers and a few cells that are none', async () => {
    const numbers = Array.from({ length: 100 }, (_, k) => `1,${k}`).join('\n')
    await refuses(`y,a\n${numbers}\n0,oops\n`, /line 102: found "oops" in column "a", expected a number, as in 100/)
    await refuses(`y,a\n${numbers}\n0,inf\n`, /line 102: found "inf" in column "a", expected a finite number/)
    await refuses('y,a\n1,2\n0,-Infinity\n1,inf\n', /line 3: found "-Infinity" in column "a", expected a finite number/)
    assert.equal((await read('y,a\n1,2\n0,inf\n', { categorical: ['a'] })).schema.features, 2)
    assert.equal((await read('y,a\n1,up\n0,inf\n')).schema.features, 2)
    const { schema } = await read('y,a\n1,2\n0,3\n')
    await refuses('y,a\n1,2\n0,x3\n', /line 3, column 3: found "x3" in column "a", expected a number/, { schema })
    await refuses('y,a\n1,1e39\n', /found "1e39" in column "a", expected .* 32-bit/, { schema, valueBits: 32 })
  })

  it('with labels of several words, and says what to do', async () => {
    await assert.rejects(read('y,a\n1,2\nvery good,3\n'), {
      message:
        /line 3, column 1: found "very good" in column "y", expected a label that is a number or a word; it has a blank/,
      advice: 'write each label as one word, such as very_good, or step over such rows with --on-bad-row skip',
    })
  })

  it('with dates, and with commas in numbers', async () => {
    await refuses('y,d\n1,2024-02-01\n0,2024-03-01\n', /line 2: found "2024-02-01" in column "d", expected no dates/)
    await refuses('y,d\n1,1.2.2024\n0,\n', /expected no dates/)
    const comma = /found "3,5" in column "d", expected a point in a number, and no commas/
    await refuses('y;d\n1;3,5\n0;4,25\n', comma)
    // Whole numbers among them, and numbers of many digits, have other shapes.
    await refuses('y;d\n1;2\n1;3,5\n0;4,25\n', comma)
    await refuses('y;d\n1;1.234,5\n0;2\n', /found "1\.234,5" in column "d", expected a point/)
    await refuses('y,d\n1,"1,234,567.5"\n0,12\n', /found "1,234,567\.5" in column "d", expected a point/)
    assert.equal((await read('y,d\n1,"3,5"\n0,2\n', { categorical: ['d'] })).schema.features, 2)
    assert.equal((await read('y,d\n1,"3,5"\n0,b\n')).schema.features, 2)
    assert.equal((await read('y,d,x\n1,2024-02-01,5\n', { ignore: ['d'] })).schema.features, 1)
  })

  it('with weights that are none', async () => {
    await refuses('y,a,w\n1,2,3\n0,1,0\n', /line 3, .*found "0" in column "w", expected a weight/, { weight: 'w' })
    await refuses('y,a,w\n1,2,\n', /found an empty cell in column "w", expected a weight/, { weight: 'w' })
  })

  it('with bytes that are no text', async () => {
    const latin = Buffer.concat([Buffer.from('y,a\n1,b\n0,M'), Buffer.from([0xfc, 0x6e, 0x0a])])
    await refuses(latin, /, line 3: found "Mün" in column "a", whose bytes 4d fc 6e are no text; expected UTF-8/)
    await refuses(`y,a\n1,b\n0,${'z'.repeat(80)}\0\n`, /in column "a", whose bytes .* are no text; expected UTF-8/)
    const early = Buffer.from('1,ok\n'.repeat(300_000))
    const late = Buffer.concat([Buffer.from('y,a\n'), early, latin.subarray(latin.indexOf('0,M'))])
    await refuses(late, /, line 300002: found "Mün" in column "a"/)
    const head = Buffer.from('y,M\u00fcn\n1,2\n0,3\n', 'latin1')
    await refuses(head, /, line 1: found the name "M\ufffdn" of a column, whose bytes are no text; expected UTF-8/)
    await refuses('', /is empty, expected a table/, { label: 'y' })
    await refuses(Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0]), /looks like a binary file/, { format: 'csv' })
    const wide = Buffer.from('\ufeffy,a\n1,b\n', 'utf16le')
    const isWide = /looks like text in UTF-16, and UTF-8 was expected/
    await refuses(Uint8Array.from(wide), isWide, { format: 'csv' })
    await refuses(wide.swap16(), isWide, { format: 'csv' })
  })

  it('with a first line that does not end, and with a long one among short ones', async () => {
    const memory = NODE_BYTES + (1 << 20)
    await refuses(`y,${'a'.repeat(2 << 20)}`, /found no row that ends within 1048576 bytes, expected a table/, {
      memory,
    })
    const many = `y${',a'.repeat(200)}`.replaceAll(/a/g, (_, at) => `a${at}`)
    await refuses(
      `${many}\n1${',1'.repeat(200)}\n`,
      /found 201 columns, which take about 1\.57 MiB, expected fewer in/,
      { memory },
    )
    await refuses(`y,a\n1,2\n1,${'3,'.repeat(4 << 20)}\n`, /line 3: found more than 2 columns, expected 2 columns/)
  })

  it('with columns of one name, or with one column', async () => {
    await refuses('y,a,a\n1,2,x\n', /two columns are called "a"/, { header: 'yes' })
    await refuses('label\n1\n2\n', /found rows of one column/, { format: 'csv' })
    await refuses('label,a\n1\n', /./)
  })

  it('where options contradict each other', async () => {
    await refuses('y,a,b\n1,2,3\n', /ignore names the column "y", which is something else already/, { ignore: ['y'] })
    await refuses('y,a\n1,2\n', /categorical is hash:99; expected hash:BITS/, { categorical: ['hash:99'] })
    await refuses('1 1:2\n', /label is for tables, and the data is LIBSVM text/, { label: 'y' })
  })
})

describe('numbers of a table', () => {
  const random = randomNumbers(5)
  const digits = (most: number): string =>
    Array.from({ length: Math.floor(random() * (most + 1)) }, () => Math.floor(random() * 10)).join('')
  /** Signs, points, zeros in front, and lengths on both sides of the eight bytes that are read at a time. */
  const drawn = (): string => {
    const [whole, rest] = [digits(9), digits(9)]
    const sign = random() < 0.3 ? '-' : ''
    if (whole === '' && rest === '') return `${sign}7`
    return `${sign}${whole}${rest === '' ? '' : `.${rest}`}`
  }

  for (const [name, end] of [
    ['LF', '\n'],
    ['CR LF', '\r\n'],
  ]) {
    it(`are what JavaScript reads in them, lines ending in ${name}`, async () => {
      const table = Array.from({ length: 600 }, () => Array.from({ length: 7 }, drawn))
      const lines = ['y,a,b,c,d,e,f,g', ...table.map((cells, k) => `${k % 2},${cells.join(',')}`)]
      const { rows } = await read(lines.join(end) + end)
      const expected = table.map(cells =>
        Object.fromEntries(
          cells.map((cell, k): [number, number] => [k, Number(cell)]).filter(([, value]) => value !== 0),
        ),
      )
      for (const [k, row] of rows.entries()) assert.deepEqual(row, expected[k], lines[k + 1])
      assert.equal(rows.length, table.length)
    })
  }

  for (const cell of ['-', '.', '-.', '1.2.3', '1-2', '--1']) {
    it(`are not spelt ${cell}`, async () => {
      const { schema } = await read('y,a,b\n1,2,3\n0,4,5\n')
      await refuses(`y,a,b\n1,2,3\n0,4,${cell}\n`, /line 3, column 5: .*expected/, { schema })
    })
  }
})
