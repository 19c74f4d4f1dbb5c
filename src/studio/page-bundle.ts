// How the browser's part of the studio is bundled, and the page that is copied beside it.
import type { BuildOptions } from 'esbuild'
import { forBrowsers } from '../report/page-bundle.ts'

export const studioBundle = {
  ...forBrowsers,
  entryPoints: { studio: 'src/studio/page/main.ts' },
  format: 'esm',
  target: 'es2023',
} as const satisfies BuildOptions

/** The page itself, which is copied. */
export const STUDIO_HTML = 'src/studio/page/index.html'
