import { UsageError } from './errors.ts'

/** Bytes written as 4096, 64K, 512M, 2G, 1.5GiB. */
export function parseBytes(text: string, name: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim())
  const value = match ? Number(match[1]) * 1024 ** ' kmgt'.indexOf(match[2].toLowerCase() || ' ') : 0
  if (!match || value < 1) throw new UsageError(`${name} is "${text}"; expected a size such as 512M or 2G`)
  return Math.floor(value)
}

export const blocksText = (blocks: number): string => `${blocks} ${blocks === 1 ? 'block' : 'blocks'}`
