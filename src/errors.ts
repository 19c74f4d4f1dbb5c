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

/** Puts a file system error (ENOENT and its kin) into words. */
export function fileError(error: unknown, path: string, doing: string): SpillwayError {
  const code = (error as NodeJS.ErrnoException)?.code
  const meaning: Record<string, string> = {
    ENOENT: 'there is no such file or folder',
    EACCES: 'permission denied',
    EPERM: 'permission denied',
    EISDIR: 'it is a folder, a file was expected',
    ENOTDIR: 'a part of the path is not a folder',
    EEXIST: 'it exists already',
    ENOSPC: 'the disk is full',
    EROFS: 'the file system is read-only',
    EMFILE: 'too many files are open',
  }
  const why = (code && meaning[code]) ?? (error instanceof Error ? error.message : String(error))
  return new SpillwayError(`cannot ${doing} ${path}: ${why}`)
}
