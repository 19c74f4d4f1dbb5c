// What a rank that fails tells rank 0: its error, in so few bytes that a library of MPI sends them at once, whether rank 0 waits for
// them or not.
import { SpillwayError, wordsOf } from '../errors.ts'

/** Bytes of a notice. Libraries send 4 KiB at once, their own head included. */
export const NOTICE_BYTES = 3072
/** Where the words of an error take more, they are cut. */
const SHORTER = 0.8

/** The error of another rank, which its message names. */
export class RankFailure extends SpillwayError {
  override name = 'RankFailure'
}

interface Notice {
  message: string
  advice: string | undefined
  exitCode: number
}

/** `who` failed, in words. With `stack`, an error that is a defect says where it is. */
export function noticeOf(error: unknown, who: string, stack = false): Uint8Array {
  const words = wordsOf(error)
  const isOurs = error instanceof SpillwayError
  const notice: Notice = {
    message: `${who}: ${words.message}`,
    advice: stack && !isOurs && error instanceof Error ? error.stack : words.advice,
    exitCode: isOurs ? error.exitCode : 1,
  }
  for (;;) {
    const bytes = new TextEncoder().encode(JSON.stringify(notice))
    if (bytes.length <= NOTICE_BYTES) return bytes
    notice.message = shorter(notice.message)
    notice.advice &&= shorter(notice.advice)
  }
}

export function failureOf(notice: Uint8Array): RankFailure {
  const { message, advice, exitCode } = JSON.parse(new TextDecoder().decode(notice)) as Notice
  return new RankFailure(message, advice, exitCode)
}

function shorter(words: string): string {
  return words.length < 100 ? words : `${words.slice(0, words.length * SHORTER)}…`
}
