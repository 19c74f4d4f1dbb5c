// What a command that was interrupted has kept, in words.
import { SpillwayError } from '../errors.ts'

/** The result of the work; an interrupt ends it with what is left behind. */
export async function sayingWhatIsKept<T>(work: Promise<T>, kept: () => string | Promise<string>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error
    throw new SpillwayError(`interrupted; ${await kept()}`, undefined, 130)
  }
}
