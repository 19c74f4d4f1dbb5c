// How the browser's parts, of reports and of the studio, are bundled: the same settings for the build, and for a run from the sources.
import type { BuildOptions } from 'esbuild'

export const forBrowsers = {
  bundle: true,
  platform: 'browser',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
} as const satisfies BuildOptions

export const pageBundle = {
  ...forBrowsers,
  entryPoints: { report: 'src/report/page/main.ts' },
  format: 'iife',
  target: 'es2022',
} as const satisfies BuildOptions
