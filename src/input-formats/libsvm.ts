// LIBSVM text: `label index:value index:value … # comment`, one row a line. The bytes are parsed in
// numeric/assembly/parse-libsvm.ts; here are its buffers and the words for what it refuses.

import {
  MOST_FEATURES,
  PARSE_ERROR_AFTER_LABEL,
  PARSE_ERROR_AFTER_VALUE,
  PARSE_ERROR_COLON,
  PARSE_ERROR_DUPLICATE,
  PARSE_ERROR_INDEX,
  PARSE_ERROR_INDEX_RANGE,
  PARSE_ERROR_INDEX_ZERO,
  PARSE_ERROR_LABEL,
  PARSE_ERROR_LABEL_BYTE,
  PARSE_ERROR_MISSING_VALUE,
  PARSE_ERROR_NOT_FINITE,
  PARSE_ERROR_TOO_LARGE,
  PARSE_ERROR_UNSORTED,
  PARSE_ERROR_VALUE,
} from '../numeric/layouts.ts'
import type { ByteCount } from '../sizes.ts'
import type { BadRow, InputFormat } from './input-format.ts'
import { labelOf } from './labels.ts'
import { LABEL_ERRORS, type ParseError, shownToken, TextParser } from './text-parser.ts'

/** What was expected, and what to do, by the parser's error number. */
const EXPECTED: Record<number, { expected: string; advice?: string }> = {
  ...LABEL_ERRORS,
  [PARSE_ERROR_LABEL]: {
    expected: 'a label at the start of the line: a number such as +1, -1 or 3, or text without a colon',
  },
  [PARSE_ERROR_AFTER_LABEL]: {
    expected: 'a label, then a blank',
    advice: 'a line starts with its label: LABEL INDEX:VALUE INDEX:VALUE …',
  },
  [PARSE_ERROR_INDEX]: { expected: 'INDEX:VALUE with a whole number as index' },
  [PARSE_ERROR_INDEX_ZERO]: {
    expected: 'an index of at least 1, for the indices of this data count from 1',
    advice: 'if they count from 0, say --index-base 0',
  },
  [PARSE_ERROR_COLON]: { expected: 'INDEX:VALUE; the colon is missing' },
  [PARSE_ERROR_MISSING_VALUE]: { expected: 'a value after the colon', advice: 'is the line cut short?' },
  [PARSE_ERROR_VALUE]: { expected: 'a number as value' },
  [PARSE_ERROR_AFTER_VALUE]: { expected: 'a number as value, then a blank' },
  [PARSE_ERROR_NOT_FINITE]: {
    expected: 'a finite number',
    advice: 'clean the data, or step over such rows with --on-bad-row skip',
  },
  [PARSE_ERROR_DUPLICATE]: { expected: 'each index once in a row' },
  [PARSE_ERROR_UNSORTED]: {
    expected: 'indices that rise within a row',
    advice: 'sort the indices of each row',
  },
  [PARSE_ERROR_TOO_LARGE]: {
    expected: 'a number that a 32-bit float can hold (below 3.4e38)',
    advice: 'scale the feature down, or keep 64-bit values: --values f64 for train and ingest',
  },
}

class LibsvmParser extends TextParser {
  /** The shortest entry, ` 1:1`, has four bytes. */
  protected override entryCapacity(bytes: ByteCount): number {
    return Math.floor(bytes / 4) + 16
  }

  protected override fill(): void {
    this.arena.numeric.parseLibsvm(this.state.at, this.batch.at)
    if (this.valueBytes === 8) this.#exactValues()
  }

  /** Values with more digits than one division can round correctly are read again, by the language's own parser. */
  #exactValues(): void {
    const { arena, state, batch } = this
    const count = state.slowCount
    if (count === 0) return
    const list = arena.u32(state.slow, count * 2)
    const values = arena.f64(batch.values, batch.nonzeros)
    for (let k = 0; k < count; k++) values[list[2 * k]] = Number(this.token(list[2 * k + 1]).text)
  }

  protected override describe(error: ParseError): BadRow {
    const { code, line, address, lineStart } = error
    if (code === PARSE_ERROR_LABEL_BYTE) return this.describeByte(error)
    const { text, start } = this.token(address, lineStart, 4096)
    // Where indices count from 0 the last of the features that a model can have has a smaller one.
    const base = this.state.indexBase
    const range = `an index of at most ${MOST_FEATURES - 1 + base}${base === 0 ? ', for the indices of this data count from 0' : ''}`
    // Only values that are kept as floats are bound by what a float holds; labels never are.
    const wide = code === PARSE_ERROR_TOO_LARGE && (this.valueBytes === 8 || !text.includes(':'))
    return {
      line,
      column: start - lineStart + 1,
      found: shownToken(text),
      ...(wide ? { expected: 'a number that a 64-bit float can hold (below 1.8e308)' } : EXPECTED[code]),
      ...(code === PARSE_ERROR_INDEX_RANGE && { expected: range }),
    }
  }
}

export const libsvm: InputFormat = {
  module: import.meta.url,
  name: 'libsvm',
  endings: ['svm', 'libsvm'],
  summary: 'LIBSVM text: LABEL INDEX:VALUE INDEX:VALUE …',
  title: 'LIBSVM text',
  row: 'LABEL INDEX:VALUE INDEX:VALUE …',
  letters: false,
  cut: {
    by: 'lines',
    examples: ['+1 1:0.5 3:-2e-3', '-1 2:1 7:0.25 # a comment', 'ham 4:3'],
    detect: line => /^[ \t\r]*[^ \t\r#][^ \t\r]*[ \t\r]+\d+:/.test(line),
    // The first row that has an entry decides: a row of one-based data cannot start with 0, and data that counts from 0
    // but does not show it there is refused at its first 0 with the option to say so, never read one way and then another.
    indexBase(text) {
      for (const line of Buffer.from(text).toString('latin1').split('\n')) {
        const entry = /^[ \t\r]*([^ \t\r#][^ \t\r]*)[ \t]+(\d+):/.exec(line)
        // Behind a number a # opens a comment, within a label of text it does not.
        const beforeHash = entry?.[1].split('#')[0] ?? ''
        if (!entry || (beforeHash !== entry[1] && labelOf(beforeHash).value !== null)) continue
        return Number(entry[2]) === 0 ? 0 : 1
      }
      return undefined
    },
  },
  newParser: arena => new LibsvmParser(arena),
}
