// What is known of delimited text by its beginning: the delimiter, the header, and where rows end.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { columnNames, DELIMITERS, endOfRows, hasHeader, layoutOf } from '../../src/tables/delimited-text.ts'
import { seed } from '../numeric/reference.ts'

const bytes = (text: string): Buffer => Buffer.from(text)
const layout = (text: string) => layoutOf(bytes(text), DELIMITERS, 'a table')
const COMMA = 44

describe('the layout of delimited text', () => {
  it('has the delimiter that rows agree on', () => {
    const delimiter = (text: string): string => String.fromCharCode(layout(text).delimiter)
    assert.equal(delimiter('a,b,c\n1,2,3\n'), ',')
    assert.equal(delimiter('a;b\n1,5;2\n1,7;3\n'), ';')
    assert.equal(delimiter('a\tb\nx, y, z\t1\n'), '\t')
    assert.equal(delimiter('a|b\n1|2\n'), '|')
    assert.equal(delimiter('"a,b,c";d\n"x,y";e\n'), ';')
  })

  it('has the first rows without quotes and blanks', () => {
    const { rows, firstBytes, firstLines } = layout('\n" a ""b"" ", c \r\n"x\ny",\n')
    assert.deepEqual(rows, [
      [' a "b" ', 'c'],
      ['x\ny', ''],
    ])
    assert.deepEqual([firstBytes, firstLines], [18, 2])
  })

  it('has a header where names stand above numbers or other values, or where it is named', () => {
    const header = (text: string, named: string[] = []): boolean => hasHeader(layout(text).rows, named)
    assert.ok(header('age,job\n30,clerk\n'))
    assert.ok(header('colour,size\nred,small\nblue,large\n'))
    assert.ok(!header('red,small\nred,large\n'))
    assert.ok(header('red,small\nred,large\n', ['red']))
    assert.ok(!header('5,red\n6,blue\n'))
    assert.ok(!header('a,a\n1,2\n'))
    assert.ok(header('a,a,b\n1,2,3\n', ['b']))
    assert.ok(header('2019,2020,kind\n1,2,red\n', ['kind']))
    assert.ok(!header('2019,2020,kind\n1,2,red\n', ['3']))
  })

  it('has a header some of whose columns have no name', () => {
    const header = (text: string, named: string[] = []): boolean => hasHeader(layout(text).rows, named)
    assert.ok(header(',x,k\n0,1.5,red\n1,2.5,blue\n'))
    assert.ok(header(',review,label\n0,good,pos\n1,bad,neg\n'))
    assert.ok(header(',review,mood\n0,good,pos\n1,bad,neg\n', ['mood']))
    // Rows of data may lack cells, too.
    assert.ok(!header(',red,yes\n3,blue,no\n'))
    assert.ok(!header(',red,y\n3,blue,n\n4,red,y\n'))
    assert.ok(!header(',,\n1,2,3\n'))
    assert.deepEqual(columnNames(['', 'x', '', '3']), ['1', 'x', '', '3'])
  })

  it('is refused where rows end with a carriage return alone', () => {
    const refused = { message: 'a table: found rows that end with a carriage return alone, expected line feeds' }
    for (const text of ['x,y\r1,2\r3,4\r\n', 'x,y\r1,2', '"x","y"\r"1","2"\r\n'])
      assert.throws(() => layout(text), refused)
    for (const text of ['x,y\r\n', 'x,"a\rb"\n', 'x,y\r', 'x,y\n1,a\rb\n']) assert.ok(layout(text), text)
  })
})

describe('the end of the last whole row', () => {
  const end = (text: string): number => endOfRows(bytes(text), COMMA)

  it('is the last line feed outside of quotes', () => {
    assert.equal(end('a,b\nc,d\ne'), 8)
    assert.equal(end('a,"b\nc"\nd,"e\nf'), 8)
    assert.equal(end('a,"b""\nc"\nd'), 10)
    assert.equal(end('a,5" disk\nb,c\nd'), 14)
    assert.equal(end('a,"never closed\nb\n'), 0)
  })

  it('cuts off a quote that stays open for a mebibyte', () => {
    const text = `a,"b\n${'x,y\n'.repeat(300_000)}`
    assert.equal(end(text), text.length)
  })

  it('is where a writer of cells has ended a row', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', ' ', 'é') })
    const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(rows, fc.nat(8), (cells, less) => {
        const lines = cells.map(row => `${row.map(text => `"${text.replaceAll('"', '""')}"`).join(',')}\n`)
        const text = bytes(lines.join(''))
        const cut = text.subarray(0, Math.max(0, text.length - less))
        const ends = [0]
        for (const line of lines) ends.push(ends[ends.length - 1] + bytes(line).length)
        // A quote at the very end may be the first of two.
        const found = endOfRows(cut, COMMA)
        assert.ok(ends.includes(found))
        assert.equal(found, Math.max(...ends.filter(at => at <= cut.length)))
      }),
      { seed, numRuns: 300 },
    )
  })
})
