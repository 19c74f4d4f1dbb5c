// The bytes of a file of metric trees: a head, pages, then what the file is about in JSON, with its checksum at the very end.
// Each page is checked by the checksum that its parent has, and the roots by those in the JSON. docs/index.md describes it.
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { INDEX_FOLDER } from '../block-store/file-layout.ts'
import type { BlockEntry, LabelEntry } from '../block-store/manifest.ts'
import { fileError, SpillwayError } from '../errors.ts'
import { Xxh64, xxh64Text } from '../files/xxh64.ts'

export const TREE_FILE_VERSION = 1
const MAGIC = 'SPILLTRE'
const END_MAGIC = 'SPILLEND'
const ORDER_MARK = 0x01020304
const HEAD_BYTES = 16
/** XXH64 of the JSON as 16 digits, its length, and the closing magic. */
const TAIL_BYTES = 16 + 4 + 8

/** A tree, by the page of its root. */
export interface TreeRoot {
  page: number
  bytes: number
  /** 16 hexadecimal digits. */
  checksum: string
  /** Place of its first row among the block's, in the order of the leaves. */
  first: number
  rows: number
  /** Pages from the root to the deepest leaf, both counted. */
  depth: number
}

/** How trees are made. */
export interface TreeSettings {
  /** Children of an inner node, at most. */
  fanOut: number
  /** Bytes of a leaf, about. */
  leafBytes: number
  /** Rows of a tree, at most. */
  treeRows: number
  seed: number
}

/** What a file of trees is about. */
export interface TreeFacts extends TreeSettings {
  format: 'spillway metric trees'
  version: number
  block: Pick<BlockEntry, 'file' | 'checksum' | 'rows'>
  /** How many labels the store had, and their checksum: rows carry their numbers. */
  labels: number
  labelChecksum: string
  bytes: number
  largestPage: number
  leaves: number
  innerNodes: number
  trees: TreeRoot[]
}

export const indexFolder = (store: string): string => join(store, INDEX_FOLDER)

/** The file of the trees of a block. */
export function treeFile(store: string, blockFile: string): string {
  return join(indexFolder(store), blockFile.replace(/^block-/, 'trees-'))
}

export function damagedTrees(path: string, what: string): SpillwayError {
  return new SpillwayError(
    `${path} is damaged: ${what}`,
    'build the index again: remove its folder, then `spillway index STORE`',
  )
}

export function checksumText(hash: bigint): string {
  return BigInt.asUintN(64, hash).toString(16).padStart(16, '0')
}

/** The checksum of the first labels of a store. `add` puts new ones behind them, so numbers stay what they were. */
export function labelChecksum(labels: readonly LabelEntry[], count: number): string {
  const hash = new Xxh64()
  hash.update(new TextEncoder().encode(JSON.stringify(labels.slice(0, count).map(({ text }) => text))))
  return xxh64Text(hash.digest())
}

export function headBytes(): Uint8Array {
  const head = new Uint8Array(HEAD_BYTES)
  const view = new DataView(head.buffer)
  head.set(new TextEncoder().encode(MAGIC))
  view.setUint32(8, TREE_FILE_VERSION, true)
  view.setUint32(12, ORDER_MARK, true)
  return head
}

export function endBytes(facts: TreeFacts): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(facts))
  const bytes = new Uint8Array(json.length + TAIL_BYTES)
  bytes.set(json)
  bytes.set(new TextEncoder().encode(hashText(json)), json.length)
  new DataView(bytes.buffer).setUint32(json.length + 16, json.length, true)
  bytes.set(new TextEncoder().encode(END_MAGIC), json.length + 20)
  return bytes
}

function hashText(bytes: Uint8Array): string {
  const hash = new Xxh64()
  hash.update(bytes)
  return xxh64Text(hash.digest())
}

/** What a file of trees is about; undefined when there is none. */
export async function readTreeFacts(path: string): Promise<TreeFacts | undefined> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw fileError(error, path, 'read')
  }
  try {
    return await readFrom(file, path)
  } finally {
    await file.close()
  }
}

async function readFrom(file: FileHandle, path: string): Promise<TreeFacts> {
  const { size } = await file.stat()
  const read = async (position: number, bytes: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, position).catch((error: unknown) => {
      throw fileError(error, path, 'read')
    })
    if (bytesRead < bytes) throw damagedTrees(path, 'it became shorter while it was read')
    return buffer
  }
  if (size < HEAD_BYTES + TAIL_BYTES) throw damagedTrees(path, `it is truncated, ${size} bytes were found`)
  const head = await read(0, HEAD_BYTES)
  if (head.toString('latin1', 0, 8) !== MAGIC) throw damagedTrees(path, 'it does not begin as a file of trees does')
  const version = head.readUInt32LE(8)
  if (version !== TREE_FILE_VERSION) {
    throw new SpillwayError(
      `${path}: version ${version} of the index was found, this Spillway reads version ${TREE_FILE_VERSION}`,
      'remove the folder of the index, then build it again: `spillway index STORE`',
    )
  }
  if (head.readUInt32LE(12) !== ORDER_MARK) throw damagedTrees(path, 'its byte order mark is not what it should be')
  const tail = await read(size - TAIL_BYTES, TAIL_BYTES)
  if (tail.toString('latin1', 20) !== END_MAGIC) throw damagedTrees(path, 'it does not end as a file of trees does')
  const length = tail.readUInt32LE(16)
  if (length > size - HEAD_BYTES - TAIL_BYTES) throw damagedTrees(path, 'its end is longer than the file')
  const json = await read(size - TAIL_BYTES - length, length)
  if (hashText(json) !== tail.toString('latin1', 0, 16))
    throw damagedTrees(path, 'the checksum of its end does not match')
  const facts = JSON.parse(json.toString('utf8')) as TreeFacts
  if (facts.bytes !== size - TAIL_BYTES - length) throw damagedTrees(path, `${size} bytes were found, others expected`)
  return facts
}

/** Names of what is in the folder of an index; none when there is no folder. */
export async function filesOfIndex(store: string): Promise<string[]> {
  return readdir(indexFolder(store)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw fileError(error, indexFolder(store), 'list')
  })
}
