// Ranks agree on what they are to do before they begin: the same program, the same options, the same data.
import { type FileHandle, open, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { SpillwayError } from '../errors.ts'
import { Xxh64, xxh64Text } from '../files/xxh64.ts'
import type { Communicator } from './communicator.ts'

/** What has to be the same everywhere, by what messages call it. */
export type Facts = Record<string, string>

/** Bytes of the beginning and of the end of a file that are compared. */
const COMPARED = 1 << 16

/** What all ranks found, where they run on which hosts. */
export interface Agreement {
  /** Of each rank. */
  hosts: string[]
}

/** Refuses facts that differ between ranks, naming what differs and where, with advice. */
export async function agree(
  ranks: Communicator,
  facts: Facts,
  advice = 'every rank needs the same program, the same command line and the same data',
): Promise<Agreement> {
  const own = Buffer.from(JSON.stringify({ host: hostname(), facts }))
  const all = (await ranks.gather(own)).map(
    bytes => JSON.parse(Buffer.from(bytes).toString()) as { host: string; facts: Facts },
  )
  for (const name of new Set(all.flatMap(({ facts }) => Object.keys(facts)))) {
    const [first] = all
    const rank = all.findIndex(({ facts }) => facts[name] !== first.facts[name])
    if (rank < 0) continue
    const said = (of: number): string => `${all[of].facts[name] ?? 'nothing'} at rank ${of} on ${all[of].host}`
    throw new SpillwayError(`ranks do not agree on ${name}: ${said(0)}, ${said(rank)}`, advice)
  }
  return { hosts: all.map(({ host }) => host) }
}

/** How many ranks run where this one does, itself included. */
export function ranksOnThisHost({ hosts }: Agreement, { rank }: Communicator): number {
  return hosts.filter(host => host === hosts[rank]).length
}

/** A file that all ranks read, told by its size, its beginning and its end: each host may have a copy. */
export async function fileFact(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  if (!found) return 'a file that is not there'
  // A folder is a store, whose manifest has the checksums of its blocks in it.
  if (found.isDirectory()) return fileFact(join(path, 'manifest.json'))
  if (!found.isFile()) return 'a pipe'
  await using file = await open(path)
  const ends = new Xxh64()
  for (const at of [0, Math.max(0, found.size - COMPARED)]) ends.update(await bytesOf(file, at))
  return `${found.size} bytes (checksum ${xxh64Text(ends.digest())})`
}

async function bytesOf(file: FileHandle, at: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(COMPARED)
  return bytes.subarray(0, (await file.read(bytes, 0, COMPARED, at)).bytesRead)
}
