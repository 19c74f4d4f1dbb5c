// How the browser's part of reports is bundled: the same settings for the build, and for a run from the sources.
import type { BuildOptions } from 'esbuild'

export const pageBundle = {
  entryPoints: { report: 'src/report/page/main.ts' },
  bundle: true,
  format: 'iife',
  platform: 'browser',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
} as const satisfies BuildOptions
