// Prints what was asked for: written whole, or an error.
import { writeStandard } from '../files/standard-output.ts'

/** Prints lines on standard output; rejects when they cannot be written. */
export async function print(text: string): Promise<void> {
  await writeStandard('stdout', `${text}\n`)
}

/** What was asked for and goes to standard error, because standard output may be full of labels or data. */
export async function printAside(text: string): Promise<void> {
  await writeStandard('stderr', `${text}\n`)
}
