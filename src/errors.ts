// The one kind of error a user sees: what went wrong, and what to do about it. Anything else is a defect of ours.

export class SpillwayError extends Error {
  override name = 'SpillwayError'
  /** What the user can do next; printed on a line of its own. */
  readonly advice: string | undefined
  readonly exitCode: number

  constructor(message: string, advice?: string, exitCode = 1) {
    super(message)
    this.advice = advice
    this.exitCode = exitCode
  }
}

/** Wrong usage: an option or argument that cannot be. */
export class UsageError extends SpillwayError {
  override name = 'UsageError'
  constructor(message: string, advice?: string) {
    super(message, advice, 2)
  }
}

/** Nobody reads what is written: the other end of a pipe was closed, as `| head` does once it has its lines. It ends the
 *  work, and it is no failure. */
export class ReaderLeft extends SpillwayError {
  override name = 'ReaderLeft'
  constructor(path: string) {
    super(`nobody reads ${path} any more`, undefined, 0)
  }
}

/** Whether a run was asked to stop, or nobody wants more of it: that is no failure. */
export function isEnding(error: unknown): boolean {
  return error instanceof ReaderLeft || (error instanceof Error && error.name === 'AbortError')
}

/** What an error says to a user. What is no error of ours is a defect of the program. */
export function wordsOf(error: unknown): { message: string; advice: string | undefined } {
  if (error instanceof SpillwayError) return error
  return {
    message: `this should not have happened: ${error instanceof Error ? error.message : String(error)}`,
    advice: 'it is a defect of the program; SPILLWAY_DEBUG=1 shows where',
  }
}

const MEANINGS: Record<string, string> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder, a file was expected',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'it exists already',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'the file is larger than the disk or a limit allows',
  EIO: 'the disk reports an error',
  EROFS: 'the file system is read-only',
  EMFILE: 'too many files are open',
}
const FULL_ADVICE = 'make room there, or name a place on another disk'
const ADVICE: Record<string, string> = {
  ENOSPC: FULL_ADVICE,
  EDQUOT: FULL_ADVICE,
  EROFS: 'name a place on a disk that can be written',
}

/** Puts a file system error (ENOENT and its kin) into words. `ifReadOnly` is what to do where the place cannot be written. */
export function fileError(error: unknown, path: string, doing: string, ifReadOnly?: string): SpillwayError {
  const code = (error as NodeJS.ErrnoException)?.code ?? ''
  if (code === 'EPIPE') return new ReaderLeft(path)
  const why = MEANINGS[code] ?? (error instanceof Error ? error.message : String(error))
  const denied = code === 'EACCES' || code === 'EPERM'
  const advice = denied ? deniedAdvice(doing) : ADVICE[code]
  return new SpillwayError(
    `cannot ${doing} ${path}: ${why}`,
    denied || code === 'EROFS' ? (ifReadOnly ?? advice) : advice,
  )
}

function deniedAdvice(doing: string): string {
  return /^(read|list|open)/.test(doing)
    ? 'ask its owner for the right to read it'
    : 'ask its owner for the right to write there, or name another place'
}
