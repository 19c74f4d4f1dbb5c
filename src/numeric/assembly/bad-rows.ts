// What parsers of text leave behind of rows that they refuse: how many there were, and of the first ones why and where.
import { PARSE_BAD_ROWS, PARSE_ERROR_BYTES, PARSE_ERROR_ROOM, PARSE_ERRORS } from '../layouts'

/** Notes a row that starts at `start`, in a line that so many came before: `where` is the byte that is wrong in it. */
@inline
export function noteBadRow(state: usize, error: u32, lines: u32, where: usize, start: usize): void {
  const bad = load<u32>(state, PARSE_BAD_ROWS)
  if (bad < u32(PARSE_ERROR_ROOM)) {
    const at = state + PARSE_ERRORS + usize(bad) * PARSE_ERROR_BYTES
    store<u32>(at, error)
    store<u32>(at, lines, 4)
    store<u32>(at, u32(where), 8)
    store<u32>(at, u32(start), 12)
  }
  store<u32>(state, bad + 1, PARSE_BAD_ROWS)
}
