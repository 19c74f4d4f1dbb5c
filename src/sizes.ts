// Sizes and counts as people write them, such as 512M and 1,000, and sizes that are fixed: of Node, of a read, of the memory window.
import { UsageError } from './errors.ts'

/** A place in the shared memory. A plain number is taken for one; a ByteCount is refused. */
export type Address = number & { readonly kind?: 'address' }
/** A number of bytes. A plain number is taken for one; an Address is refused. */
export type ByteCount = number & { readonly kind?: 'bytes' }

/** Bytes written as 4096, 64K, 512M, 2G, 1.5GiB. */
export function parseBytes(text: string, name: string): ByteCount {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim())
  const value = match ? Number(match[1]) * 1024 ** ' kmgt'.indexOf(match[2].toLowerCase() || ' ') : 0
  if (!match || value < 1) throw new UsageError(`${name} is "${text}"; expected a size such as 512M or 2G`)
  return Math.floor(value)
}

/** 1234567 → "1,234,567", with so many decimals at most. `toLocaleString` says the same, but a program waits 20 ms for its
 *  tables of languages. */
export function formatCount(count: number, decimals = 0): string {
  return String(Number(count.toFixed(decimals))).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** Bytes as people write them on a command line: 230M, or the number where no letter fits. */
export function sizeText(bytes: ByteCount): string {
  const power = ['G', 'M', 'K'].findIndex((_, k) => bytes % 1024 ** (3 - k) === 0)
  return power < 0 ? String(bytes) : `${bytes / 1024 ** (3 - power)}${'GMK'[power]}`
}

/** Bytes of memory, written so. Nobody means a few bytes: a number without its letter is asked about. */
export function parseMemory(text: string, name: string): ByteCount {
  const bytes = parseBytes(text, name)
  if (bytes < 1 << 20 && /^\s*\d+\s*$/.test(text)) {
    throw new UsageError(`${name} is "${text}", which is ${bytes} bytes`, `did you mean ${text.trim()}M?`)
  }
  return bytes
}

export const blocksText = (blocks: number): string => `${blocks} ${blocks === 1 ? 'block' : 'blocks'}`

/** Node, its heap, its threads and the program itself, as a memory cap counts them. Measured on tiny data: 61 MB of
 *  anonymous memory, and some 20 MB of the program's own file that must stay in memory if it is not to be read again and
 *  again. */
export const NODE_BYTES: ByteCount = 84 << 20
/** Pages of the program's own file that must stay in memory, besides those that NODE_BYTES holds; some 5 MB of the kernel's own
 *  and what the disk reads ahead, which a hard cap counts, too. A run of a million features has 47 MB of such pages. With 44 MB left
 *  for them it went well, with 38 MB it crawled: it read the same pages again and again, 19 GB in 23 s. The same is left where
 *  no cap is, so that a command that is accepted is accepted inside of a cap of the same size. */
export const PROGRAM_PAGES: ByteCount = 48 << 20
/** Bytes of a block file that are read at a time. */
export const READ_BYTES: ByteCount = 1 << 20
/** A WebAssembly memory ends at 4 GiB; a little is left for rounding. */
export const WINDOW_BYTES: ByteCount = 4 * 2 ** 30 - (64 << 20)
