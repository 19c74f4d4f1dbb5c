// What Spillway says about its memory, read from its words: how much would do, and how many rows its plan has room for.

/** It refuses this, and says how much would do. */
export const TOO_LITTLE = '1M'

/** The memory that a refusal names; undefined when the failure is about something else. Advice has room for what reading text
 *  leaves behind, which a store does not need: there the sum of its plan is the least, but for rounding. */
export function leastMemory(error: unknown): string | undefined {
  const { message } = error as Error
  const advice = /(?:what would help:|give) --memory (\d+)M/.exec(message)?.[1]
  if (advice === undefined) return undefined
  const sum = /in all +([\d.]+) MiB/.exec(message)?.[1]
  return `${Math.min(Number(advice), sum === undefined ? Number.POSITIVE_INFINITY : Math.ceil(Number(sum)) + 1)}M`
}

/** Bytes for rows in a plan as it is told on stderr: loaded blocks, and rows that stay. */
export function heldBytes(stderr: string): number | undefined {
  const lines = [
    ...stderr.matchAll(
      /^ *(?:\d+ loaded blocks? of at most .*|cache of rows|rows that stay in memory, at least|more of them) {2,}([\d.]+) ([KMG]i)?B$/gm,
    ),
  ]
  if (lines.length === 0) return undefined
  return lines.reduce(
    (sum, [, digits, unit]) => sum + Number(digits) * (unit ? 1024 ** (1 + 'KMG'.indexOf(unit[0])) : 1),
    0,
  )
}

/** All rows as Spillway keeps them in memory: 8 bytes a nonzero, and a little for each row. */
export function decodedBytes(told: Record<string, unknown> | undefined): number {
  return 8 * Number(told?.['nonzeros']) + 24 * Number(told?.['rows'])
}

const TRIES = 5
const NEAR = 0.1

const megabytesOf = (refusal: unknown): number => Number.parseInt(leastMemory(refusal) ?? '', 10)

/** The --memory whose plan has room for about so large a share of the rows, or the least that works. `train` is a short run
 *  that tells its plan. Some of what is added goes elsewhere, to pages of files, so this asks again for what is missing. */
export async function memoryHolding(
  share: number,
  train: (memory: string) => Promise<{ stderr: string; told?: Record<string, unknown> }>,
): Promise<string> {
  const refused = await train(TOO_LITTLE).catch(error => error)
  let least = megabytesOf(refused)
  if (!least) throw refused instanceof Error ? refused : new Error(`--memory ${TOO_LITTLE} was not refused`)
  let megabytes = least
  for (let k = 0; k < TRIES; k++) {
    const run = await train(`${megabytes}M`).catch(error => error)
    if (run instanceof Error) {
      // A look at the text may show that more is needed than was said without one.
      const more = megabytesOf(run)
      if (!more || more <= megabytes) throw run
      megabytes = least = more
      continue
    }
    const { stderr, told } = run
    const wanted = share * decodedBytes(told)
    const missing = wanted - (heldBytes(stderr) ?? wanted)
    if (Math.abs(missing) < NEAR * wanted) break
    const next = Math.max(least, megabytes + Math.ceil(missing / 2 ** 20))
    if (next === megabytes) break
    megabytes = next
  }
  return `${megabytes}M`
}
