// How the browser's part of the studio is bundled: the same settings for the build, and for a run from the sources.
import type { BuildOptions } from 'esbuild'

export const studioBundle = {
  entryPoints: { studio: 'src/studio/page/main.ts' },
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2023',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
} as const satisfies BuildOptions

/** The page itself, which is copied. */
export const STUDIO_HTML = 'src/studio/page/index.html'
