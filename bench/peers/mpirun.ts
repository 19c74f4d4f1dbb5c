// Open MPI's mpirun, which starts ranks of Spillway; and what ranks send, by Open MPI's own count of messages.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Of a file of messages. */
const LINE = /^([EIC])\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs/gm
/** With MPICH beside it, `mpirun` may be either. */
const NAMES = ['mpirun.openmpi', 'mpirun']

export const howToInstallMpi = 'apt-get install openmpi-bin, and npm install koffi'

/** The command that starts ranks, up to their number; undefined where Open MPI or koffi is not there. */
export async function findMpirun(): Promise<string[] | undefined> {
  if (!(await hasKoffi())) return undefined
  for (const name of NAMES) {
    const told = await run(name, ['--version']).then(
      ({ stdout }) => stdout,
      () => '',
    )
    if (!told.includes('Open MPI')) continue
    const asRoot = process.getuid?.() === 0 ? ['--allow-run-as-root'] : []
    // Without bounds a rank has all cores to itself when the others wait; more ranks than cores are fine.
    return [name, ...asRoot, '--oversubscribe', '--bind-to', 'none']
  }
  return undefined
}

async function hasKoffi(): Promise<boolean> {
  return import('koffi').then(
    () => true,
    () => false,
  )
}

/** Words before a program that so many ranks run. */
export function launcherFor(mpirun: string[], ranks: number, words: string[] = []): string[] {
  return [...mpirun, ...words, '-n', String(ranks)]
}

/** What ranks sent in a whole job. */
export interface Traffic {
  /** Bytes that the rank that gives the most hands to calls of all ranks, whatever way these take to send them. */
  givenByRank: number
  /** Bytes that the rank that sends the most has sent to others. */
  sentByRank: number
  /** Bytes that all ranks have sent together. */
  sentInAll: number
  messages: number
}

/** Runs a job whose messages are counted; `job` gets words for the launcher. Counting takes time: such a run is not timed. */
export async function countTraffic(folder: string, job: (words: string[]) => Promise<unknown>): Promise<Traffic> {
  const place = await mkdtemp(join(folder, 'traffic-'))
  try {
    const settings = { enable: '2', enable_output: '3', filename: join(place, 'rank') }
    const words = Object.entries(settings).flatMap(([name, value]) => ['--mca', `pml_monitoring_${name}`, value])
    await job(words)
    const names = await readdir(place)
    if (names.length === 0) throw new Error('this Open MPI has no component that counts messages (pml monitoring)')
    return trafficOf(await Promise.all(names.map(name => readFile(join(place, name), 'utf8'))))
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

/** What the files of all ranks say, one each. `I 0 1 108 bytes 27 msgs sent …`: from rank 0 to rank 1; E what a program sends by
 *  itself, I what calls of all ranks send, C what the rank gives to such calls, the same for every other rank. */
export function trafficOf(files: string[]): Traffic {
  const byRank = new Map<number, number>()
  let [givenByRank, messages] = [0, 0]
  for (const text of files) {
    for (const [, kind, from, to, bytes, count] of text.matchAll(LINE)) {
      if (from === to) continue
      if (kind === 'C') {
        givenByRank = Math.max(givenByRank, Number(bytes))
        continue
      }
      byRank.set(Number(from), (byRank.get(Number(from)) ?? 0) + Number(bytes))
      messages += Number(count)
    }
  }
  const all = [...byRank.values()]
  const sentInAll = all.reduce((sum, each) => sum + each, 0)
  return { givenByRank, sentByRank: Math.max(0, ...all), sentInAll, messages }
}
