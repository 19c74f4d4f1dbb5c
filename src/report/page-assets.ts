// Script and style of reports: those of the build, or, in a run from sources that are newer, bundled on the spot.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PageAssets } from './html.ts'
import { pageBundle } from './page-bundle.ts'

const here = fileURLToPath(new URL('.', import.meta.url))

/** When a file was last changed; 0 when it is not there. */
const changed = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

const read = (folder: string): PageAssets => ({
  script: readFileSync(join(folder, 'report.js'), 'utf8'),
  style: readFileSync(join(folder, 'report.css'), 'utf8'),
})

export async function pageAssets(): Promise<PageAssets> {
  // In dist/, they stand beside the program.
  if (changed(join(here, 'report.js')) > 0) return read(here)
  const root = join(here, '../..')
  const newest = Math.max(
    ...readdirSync(here, { recursive: true, withFileTypes: true }).map(entry =>
      entry.isFile() ? changed(join(entry.parentPath, entry.name)) : 0,
    ),
  )
  const built = join(root, 'dist')
  if (changed(join(built, 'report.js')) > newest) return read(built)
  const { build } = await import('esbuild')
  const { outputFiles } = await build({ ...pageBundle, absWorkingDir: root, write: false, outdir: built })
  const textOf = (ending: string): string => outputFiles.find(({ path }) => path.endsWith(ending))!.text
  return { script: textOf('.js'), style: textOf('.css') }
}
