// Every peer that --peer can name, one file and one line each.
import { makeCdblock } from './cdblock.ts'
import type { GivenPeer } from './given.ts'
import { makeVw } from './vw.ts'

const makers: Record<string, (path: string) => GivenPeer> = { cdblock: makeCdblock, vw: makeVw }

export const givenNames = Object.keys(makers)

/** What is said of a peer that was not named. */
export const notGiven = (name: string): string => `not given (--peer ${name}=PATH)`

/** The peers of `--peer NAME=PATH`, or what is wrong with a word. */
export function readPeers(words: string[]): GivenPeer[] | string {
  const peers: GivenPeer[] = []
  for (const word of words) {
    const [, name, path] = /^([^=]*)=(.+)$/.exec(word) ?? []
    if (name === undefined || !Object.hasOwn(makers, name))
      return `--peer is "${word}"; expected ${givenNames.map(each => `${each}=PATH`).join(' or ')}`
    try {
      peers.push(makers[name](path))
    } catch (error) {
      return `--peer ${word}: ${(error as Error).message}`
    }
  }
  return peers
}
