// The page: three files, built with the program. In a clone without a build they are made of their sources when they are asked for.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SpillwayError } from '../errors.ts'
import { STUDIO_HTML, studioBundle } from './page-bundle.ts'

export interface Asset {
  type: string
  bytes: Buffer
}

const TYPES = {
  'studio.html': 'text/html; charset=utf-8',
  'studio.js': 'text/javascript; charset=utf-8',
  'studio.css': 'text/css; charset=utf-8',
} as const

export type AssetName = keyof typeof TYPES

/** Where assets are: beside the bundle of a build. */
const built = (name: string): URL => new URL(`./${name}`, import.meta.url)

export class Assets {
  readonly #made = new Map<AssetName, Promise<Asset>>()

  /** Made once. */
  get(name: AssetName): Promise<Asset> {
    let asset = this.#made.get(name)
    if (!asset) {
      asset = load(name)
      this.#made.set(name, asset)
      asset.catch(() => this.#made.delete(name))
    }
    return asset
  }
}

async function load(name: AssetName): Promise<Asset> {
  const bytes = await readFile(built(name)).catch(() => fromSource(name))
  return { type: TYPES[name], bytes }
}

async function fromSource(name: AssetName): Promise<Buffer> {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  if (name === 'studio.html') return readFile(join(root, STUDIO_HTML)).catch(missing)
  const { build } = await import('esbuild').catch(missing)
  const { outputFiles } = await build({
    ...studioBundle,
    ...{ absWorkingDir: root, outdir: root, write: false, logLevel: 'silent' },
  }).catch(missing)
  return Buffer.from(outputFiles.find(({ path }) => path.endsWith(name))!.contents)
}

function missing(): never {
  throw new SpillwayError('the page of the studio is missing from this installation', 'npm run build makes it')
}
