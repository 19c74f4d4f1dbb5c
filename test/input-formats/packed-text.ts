// Text that was packed by other programs: the files are in test/fixtures/compressed/.
import { readFileSync } from 'node:fs'

/** Rows of LIBSVM text, with long runs of one byte here and there. */
export function packedText(): Buffer {
  let state = 11
  const draw = (most: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * most)
  }
  const lines = Array.from({ length: 9000 }, (_, k) => {
    const comment = k % 97 === 0 ? ` #${'='.repeat(draw(700))}` : ''
    return `${draw(2) * 2 - 1} ${1 + draw(9)}:${draw(100) / 10} ${10 + draw(500)}:1 ${600 + draw(9)}:0.25${comment}\n`
  })
  return Buffer.from(lines.join(''))
}

export function packed(name: string): Buffer {
  return readFileSync(new URL(`../fixtures/compressed/${name}`, import.meta.url))
}
