// Finds the line of some bytes in text, for a message about them: what was learnt of a whole table has no lines.
import { openSource } from '../input-formats/byte-source.ts'
import { LINE_FEED } from '../input-formats/line-chunks.ts'

const PIECE = 1 << 20

/** The line that the bytes are first met in, from 1 on; undefined where they are written in another way. */
export async function findLine(path: string, bytes: Uint8Array): Promise<number | undefined> {
  const source = await openSource(path)
  try {
    const piece = Buffer.alloc(PIECE + bytes.length)
    let [kept, lines] = [0, 1]
    for (;;) {
      const got = await source.read(piece.subarray(kept))
      const text = piece.subarray(0, kept + got)
      const place = text.indexOf(bytes)
      if (place >= 0) return lines + linesIn(text.subarray(0, place))
      if (kept + got < piece.length) return undefined
      // The bytes may begin at the end of a piece.
      const from = text.length - bytes.length
      lines += linesIn(text.subarray(0, from))
      piece.copyWithin(0, from)
      kept = bytes.length
    }
  } finally {
    await source.close()
  }
}

function linesIn(text: Uint8Array): number {
  let lines = 0
  for (let at = text.indexOf(LINE_FEED); at >= 0; at = text.indexOf(LINE_FEED, at + 1)) lines++
  return lines
}
