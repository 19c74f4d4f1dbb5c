// The timing protocol: peers take turns round by round, a different one first each time, so that a busy minute of the
// machine falls on all of them; the smallest time is reported, with the spread that says how far to trust it.
import type { Measured } from './measure.ts'

export const LEAST_ROUNDS = 3

export interface Contestant<T extends Measured = Measured> {
  name: string
  run(round: number): Promise<T>
}

export interface Timing {
  /** Smallest wall-clock seconds. */
  seconds: number
  /** Largest / smallest. */
  spread: number
  /** Smallest processor seconds. */
  cpuSeconds: number
  /** Largest over the rounds: memory is a promise, not a record. */
  peakMemoryBytes: number
  all: { seconds: number; cpuSeconds: number; peakMemoryBytes: number }[]
}

/** Runs every contestant once a round; the order is rotated each round. Results stand in the order of the rounds. */
export async function interleave<T extends Measured>(
  contestants: Contestant<T>[],
  rounds: number,
  say: (text: string) => void,
): Promise<Map<string, T[]>> {
  const results = new Map<string, T[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (let k = 0; k < contestants.length; k++) {
      const { name, run } = contestants[(k + round) % contestants.length]
      const result = await run(round)
      say(`round ${round + 1}/${rounds}  ${name}: ${result.seconds.toFixed(3)} s`)
      results.get(name)!.push(result)
    }
  }
  return results
}

export function timingOf(runs: Measured[]): Timing {
  const seconds = runs.map(run => run.seconds)
  return {
    seconds: Math.min(...seconds),
    spread: Math.max(...seconds) / Math.min(...seconds),
    cpuSeconds: Math.min(...runs.map(run => run.cpuSeconds)),
    peakMemoryBytes: Math.max(...runs.map(run => run.peakMemoryBytes)),
    all: runs.map(({ seconds, cpuSeconds, peakMemoryBytes }) => ({ seconds, cpuSeconds, peakMemoryBytes })),
  }
}
