// Sizes and addresses reach 2^32; the language's operators on bits are signed 32-bit ones, and so is i32 of the compiled loops.
// They are for bits alone: where the sources use them, this list says what for.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

const root = new URL('../../', import.meta.url)

/** What spoils a number of 2^31 or more, by the name that the lists below call it. BigInts have no such bounds. */
const operators: Record<string, RegExp> = {
  '~': /~(?=[\w(~])/g,
  '>>': / >>=? (?!\d+n\b)/g,
  // Of two written numbers, and of a bit in a byte or a word, the result can be seen.
  '<<': /(?<!\b\d+) <<=? (?!\d+n\b)|\b1 << (?!\d|\([^()]* & (?:7|31)\))/g,
  '| 0': / \|=? 0\b(?![.x])/g,
  '& 0x8…': / &=? 0x[89a-f][\da-f]{7}\b/gi,
  imul: /Math\.imul/g,
  i32: /Int32Array|[gs]etInt32/g,
}

/** Files that need some of them, and what for. */
const forBits: Record<string, [what: string, ...operators: string[]]> = {
  'block-store/file-layout.ts': ['flags of a header', '~'],
  'block-store/split-blocks.ts': ['random words', 'imul'],
  'generate/distributions.ts': ['the bits of a byte, reversed', '>>', '<<'],
  'input-formats/bzip2-blocks.ts': ['codes, words of a checksum', '~', '>>', '<<', '& 0x8…', 'i32'],
  'input-formats/lz4-frames.ts': ['fields of a header, bytes of a length', '~', '>>', '<<'],
  'input-formats/text-size.ts': ['fields of a header', '>>'],
  'input-formats/npy-header.ts': ['numbers of an array', 'i32'],
  'input-formats/vw.ts': ['words of a hash', '<<', '| 0', 'imul', '~', '^'],
  'input-formats/zstd-frames.ts': ['fields of a header', '>>', '<<', '& 0x8…'],
  'numeric/feature-bits.ts': ['words of bits', 'imul'],
  'sample-index/page-list.ts': ['words of a hash', 'imul'],
  'model/liblinear-file.ts': ["labels, as LIBLINEAR's C has them", '| 0'],
  'predict/predict-chunk-task.ts': ['class numbers, −1 for none', 'i32'],
  'predict/predict-store.ts': ['class numbers, −1 for none', 'i32'],
  'predict/answers-of-rows.ts': ['class numbers, −1 for none', 'i32'],
  'files/xxh64.ts': ['words of a checksum', '~', '<<', '| 0', 'imul', 'i32'],
  'optimise/solvers/bundle-visit-task.ts': ['a bit for each of eight models', '<<'],
  'optimise/solvers/bundle-sweeps-task.ts': ['a bit for each of eight models', '~', '<<'],
  'optimise/solvers/momentum.ts': ['a bit for each of eight models', '<<'],
  'optimise/objectives/bundle.ts': ['a bit for each of eight models', '<<'],
}

/** Files of the compiled loops with signed numbers. */
const signed: Record<string, string> = {
  'decode-cells.ts': 'whole numbers as a file has them',
  'feature-map.ts': 'how many rows were renewed, or −1',
  'generate-drawn.ts': 'places of pixels, which may lie outside',
  'generate.ts': 'random words to values',
  'l1.ts': 'a count of tries',
  'memory.ts': 'pages of memory, at most 65536',
  'parse-libsvm.ts': 'places of digits',
  'parse-number.ts': 'exponents',
  'read-cell.ts': 'places of digits',
  'row-together.ts': 'the name of a kind of row',
  'scale.ts': 'exponents of powers of two',
}

/** Code without comments and texts. */
function codeOf(path: string): string {
  const text = readFileSync(new URL(path, root), 'utf8')
  const others = /\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g
  // Lines keep their numbers.
  return text.replace(others, found => `''${found.replace(/[^\n]/g, '')}`)
}

describe('sizes and addresses', () => {
  const assembly = 'src/numeric/assembly/'
  const files = globSync('src/**/*.ts', { cwd: root }).map(path => path.replaceAll('\\', '/'))

  it('meet no operator that is signed and 32 bits wide', () => {
    const wrong: string[] = []
    for (const path of files.filter(path => !path.startsWith(assembly))) {
      const name = path.slice('src/'.length)
      for (const [k, line] of codeOf(path).split('\n').entries()) {
        for (const [operator, pattern] of Object.entries(operators)) {
          if (line.search(pattern) < 0) continue
          if (!forBits[name]?.slice(1).includes(operator)) wrong.push(`${path}:${k + 1} ${operator} ${line.trim()}`)
        }
      }
    }
    const advice = 'sizes are rounded by numeric/rounding.ts and halved by Math.floor; what is for bits is listed here'
    assert.deepEqual(wrong, [], advice)
  })

  it('are unsigned in the compiled loops', () => {
    const found = files.filter(path => path.startsWith(assembly) && /\bi32\b|\bisize\b/.test(codeOf(path)))
    assert.deepEqual(found.map(path => path.slice(assembly.length)).sort(), Object.keys(signed).sort())
  })

  it('the search finds what it is for', () => {
    const finds = (line: string): string[] =>
      Object.keys(operators).filter(operator => line.search(operators[operator]) >= 0)
    assert.deepEqual(finds('const bytes = Math.max(0, size) & ~7'), ['~'])
    assert.deepEqual(finds('return (bytes >> 2) + 16'), ['>>'])
    assert.deepEqual(finds('rows << 3'), ['<<'])
    assert.deepEqual(finds('1 << Math.ceil(Math.log2(rows))'), ['<<'])
    assert.deepEqual(finds('const whole = size | 0'), ['| 0'])
    assert.deepEqual(finds('at & 0xffffffc0'), ['& 0x8…'])
    assert.deepEqual(finds('const a = 1 << 20, b = 84 << 20, c = at >>> 0, d = 1 << (row & 7), e = h >> 33n'), [])
  })
})
