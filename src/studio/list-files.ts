// The files of the studio's folder that it can do something with: data, stores and models, those in its folders too.
import { type Dirent, type Stats, statSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST_FILE } from '../block-store/file-layout.ts'
import { readManifest } from '../block-store/manifest.ts'
import { fileHead } from '../files/file-head.ts'
import { allInputFormats } from '../input-formats/all-input-formats.ts'
import { isText, Reading } from '../input-formats/reading.ts'
import { allModelFormats } from '../model/all-model-formats.ts'
import type { StudioFolder } from './folder.ts'

export interface ListedFile {
  /** From the folder on, with slashes. */
  name: string
  bytes: number
  modified: string
  kind: 'data' | 'store' | 'model'
  /** Of data: the name of its input format, as far as its name and its beginning tell. */
  format?: string
  /** Of data that is a table: one of its columns is the label. */
  isTable?: true
}

export interface Listing {
  files: ListedFile[]
  /** There when there are more. */
  truncated?: true
}

/** Entries that are looked at, and folders below folders. */
const MOST_ENTRIES = 5000
const MOST_FILES = 1000
const MOST_DEPTH = 5

/** What compressed files are called. */
const COMPRESSED = /\.(gz|zst|bz2|xz)$/i

/** Files that may look like data at their beginning, and are none. */
const OTHERS =
  /\.(md|html?|json|jsonl|ndjson|js|mjs|ts|css|py|r|c|h|sh|log|pdf|png|jpe?g|svg|ya?ml|toml|xml|ipynb|zip|tar|tgz|lock|ini)$/i

export async function listFiles(folder: StudioFolder): Promise<Listing> {
  const files: ListedFile[] = []
  let [entries, truncated] = [0, false]
  const walk = async (inside: string, depth: number): Promise<void> => {
    for (const entry of await entriesOf(join(folder.path, inside))) {
      if (entry.name.startsWith('.') || entry.name.includes('\\')) continue
      if (++entries > MOST_ENTRIES || files.length >= MOST_FILES) {
        truncated = true
        return
      }
      const name = inside === '' ? entry.name : `${inside}/${entry.name}`
      const path = join(folder.path, name)
      const found = await insideFacts(folder, path, entry)
      if (!found) continue
      if (found.isFile()) {
        const kind = await kindOfFile(path)
        if (kind)
          files.push({ name, bytes: found.size, modified: found.mtime.toISOString(), ...kind, ...tableFacts(kind) })
      } else if (found.isDirectory()) {
        const store = await storeFacts(path)
        if (store) files.push({ name, ...store, kind: 'store' })
        // A link to a folder may lead to one around it.
        else if (depth < MOST_DEPTH && entry.isDirectory()) await walk(name, depth + 1)
        else if (entry.isDirectory()) truncated = true
      }
    }
  }
  await walk('', 1)
  return truncated ? { files, truncated } : { files }
}

async function entriesOf(path: string): Promise<Dirent[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** What the system knows of an entry; undefined for one that leads out of the folder, or nowhere. */
async function insideFacts(folder: StudioFolder, path: string, entry: Dirent): Promise<Stats | undefined> {
  try {
    if (entry.isSymbolicLink() && !folder.holds(await realpath(path))) return undefined
    return await stat(path)
  } catch {
    return undefined
  }
}

/** A manifest that cannot be read says what is wrong when the store is chosen. */
async function storeFacts(path: string): Promise<Pick<ListedFile, 'bytes' | 'modified'> | undefined> {
  const found = statSync(join(path, MANIFEST_FILE), { throwIfNoEntry: false })
  if (!found?.isFile()) return undefined
  const blocks = await readManifest(path).then(
    manifest => manifest.blocks,
    () => [],
  )
  return { bytes: blocks.reduce((sum, { bytes }) => sum + bytes, 0), modified: found.mtime.toISOString() }
}

/** What a file is, by its beginning and its name; undefined for what is neither data nor a model. */
export async function kindOfFile(path: string): Promise<Pick<ListedFile, 'kind' | 'format'> | undefined> {
  const head = await fileHead(path).catch(() => new Uint8Array(0))
  if (head.length === 0) return undefined
  if (allModelFormats.some(format => format.read && format.detect(head))) return { kind: 'model' }
  const byName = formatByName(path)
  if (!byName && OTHERS.test(path.replace(COMPRESSED, ''))) return undefined
  if (COMPRESSED.test(path)) return { kind: 'data', ...(byName && { format: byName }) }
  const byHead = formatByHead(head)
  if (byName || byHead) return { kind: 'data', format: (byHead ?? byName) as string }
  return undefined
}

function tableFacts({ format }: Pick<ListedFile, 'format'>): Pick<ListedFile, 'isTable'> {
  const cut = allInputFormats.find(({ name }) => name === format)?.cut
  return cut?.by === 'lines' && cut.delimiters ? { isTable: true } : {}
}

function formatByName(path: string): string | undefined {
  const plain = path.replace(COMPRESSED, '').toLowerCase()
  return allInputFormats.find(({ endings = [] }) => endings.some(ending => plain.endsWith(`.${ending}`)))?.name
}

/** The format that a beginning speaks for; undefined where none does. */
function formatByHead(head: Uint8Array): string | undefined {
  if (!isText(head)) return allInputFormats.find(({ cut }) => cut.by === 'plan' && cut.detect(head))?.name
  const reading = new Reading(undefined, undefined)
  const line = Buffer.from(head)
    .toString('latin1')
    .split('\n')
    .find(each => each.trim() !== '' && !each.startsWith('#'))
  if (line === undefined) return undefined
  const speaks = allInputFormats.some(({ cut }) => cut.by === 'lines' && cut.detect(line))
  if (!speaks) return undefined
  reading.look(head)
  return reading.known?.name
}
