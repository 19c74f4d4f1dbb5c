// Strings with a label: `LABEL STRING # comment`, one row a line; DNA and proteins come so. An entry is a letter: its
// position is the feature, its byte the value, and lower case counts as upper case. The bytes are parsed in
// numeric/assembly/parse-label-string.ts; here are the words for what it refuses.
import {
  LONGEST_STRING,
  PARSE_ERROR_AFTER_LABEL,
  PARSE_ERROR_AFTER_STRING,
  PARSE_ERROR_LABEL,
  PARSE_ERROR_LABEL_BYTE,
  PARSE_ERROR_LETTER,
  PARSE_ERROR_MISSING_STRING,
  PARSE_ERROR_NOT_FINITE,
  PARSE_ERROR_STRING_LENGTH,
  PARSE_ERROR_TOO_LARGE,
} from '../numeric/layouts.ts'
import type { ByteCount } from '../sizes.ts'
import type { BadRow, InputFormat } from './input-format.ts'
import { LABEL_ERRORS, type ParseError, shownToken, TextParser } from './text-parser.ts'

const EXPECTED: Record<number, { expected: string; advice?: string }> = {
  ...LABEL_ERRORS,
  [PARSE_ERROR_LABEL]: {
    expected: 'a label at the start of the line: a number such as +1, -1 or 3, or text without a colon',
    advice: 'a line is LABEL STRING; data of INDEX:VALUE entries is read with --format libsvm',
  },
  [PARSE_ERROR_AFTER_LABEL]: { expected: 'a label, then a blank', advice: 'a line is LABEL STRING' },
  [PARSE_ERROR_NOT_FINITE]: { expected: 'a finite number as label' },
  [PARSE_ERROR_TOO_LARGE]: { expected: 'a label that a 64-bit float can hold (below 1.8e308)' },
  [PARSE_ERROR_MISSING_STRING]: { expected: 'a string after the label', advice: 'is the line cut short?' },
  [PARSE_ERROR_LETTER]: {
    expected: 'letters: bytes that print, from ! to ~',
    advice: 'is this text? If only some rows are so, step over them with --on-bad-row skip',
  },
  [PARSE_ERROR_STRING_LENGTH]: {
    expected: `a string of at most ${LONGEST_STRING} letters`,
    advice: 'cut the strings into windows, one a line',
  },
  [PARSE_ERROR_AFTER_STRING]: {
    expected: 'the end of the line after the string',
    advice: 'a string has no blanks in it; data of INDEX:VALUE entries is read with --format libsvm',
  },
}

/** Letters in a batch, of chunks that have more of them. */
const MOST_AT_ONCE = 1 << 20

class LabelStringParser extends TextParser {
  /** A letter is a byte. Many letters in a batch make long segments; that is worth more than small buffers. */
  protected override entryCapacity(bytes: ByteCount): number {
    return Math.max(Math.floor(bytes / 4) + 16, Math.min(bytes, MOST_AT_ONCE))
  }

  protected override fill(): void {
    const { arena, state, batch } = this
    state.needsRoom = 0
    arena.numeric.parseLabelString(state.at, batch.at)
    if (state.needsRoom === 0) return
    this.enlarge(LONGEST_STRING)
    arena.numeric.parseLabelString(state.at, batch.at)
  }

  protected override describe(error: ParseError): BadRow {
    const { code, line, address, lineStart } = error
    if (code === PARSE_ERROR_LABEL_BYTE) return this.describeByte(error)
    const at = (column: number, found: string): BadRow => ({ line, column, found, ...EXPECTED[code] })
    if (code === PARSE_ERROR_LETTER) {
      const byte = this.arena.bytes(address, 1)[0]
      return at(address - lineStart + 1, `the byte 0x${byte.toString(16).padStart(2, '0')}`)
    }
    if (code === PARSE_ERROR_MISSING_STRING) return at(address - lineStart + 1, 'the end of the line')
    const { text, start } = this.token(address, lineStart, 4096)
    if (code === PARSE_ERROR_STRING_LENGTH) return at(start - lineStart + 1, 'a longer one')
    return at(start - lineStart + 1, shownToken(text))
  }
}

export const labelString: InputFormat = {
  module: import.meta.url,
  name: 'label-string',
  summary: 'strings of letters, DNA say: LABEL STRING',
  title: 'labelled strings',
  row: 'LABEL STRING',
  letters: true,
  cut: {
    by: 'lines',
    examples: ['+1 GATTACA', '-1 acgt # lower case', 'exon CCNGT'],
    // Anything that prints can be a letter, but only letters, gaps and stops show that it is a string that was meant.
    detect(line) {
      const [, rest = ''] = /^[ \t\r]*[^ \t\r#:][^ \t\r:]*[ \t\r]+(.*)$/s.exec(line) ?? []
      const string = rest.replace(/#.*/s, '').trim()
      return /^[A-Za-z*.-]+$/.test(string) && /[A-Za-z]/.test(string)
    },
    // Positions count from 1, as biologists count.
    indexBase: 1,
  },
  newParser: arena => new LabelStringParser(arena),
}
