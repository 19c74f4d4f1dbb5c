// A report as one file of HTML: the records of its runs, and the script and style that draw them. It asks nothing of a network.
import type { RunLine } from './records.ts'

/** What the page reads: one run, or several to be compared. */
export interface ReportContent {
  kind: 'run' | 'compare'
  runs: { name: string; lines: RunLine[] }[]
  /** A known optimum. */
  best?: number | undefined
}

export interface PageAssets {
  script: string
  style: string
}

/** Nothing may be loaded but what stands in the file. */
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escaped = (text: string): string => text.replace(/[&<>"']/g, found => ENTITIES[found])

/** JSON that no HTML parser takes for a tag: names and labels may hold anything. */
export function inlineJson(value: unknown): string {
  return JSON.stringify(value)
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029')
}

export function reportPage(title: string, content: ReportContent, { script, style }: PageAssets): string {
  // A style or a script ends at its closing tag, wherever that stands.
  const safe = (text: string): string => text.replace(/<\/(script|style)/gi, '<\\/$1')
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    `<title>${escaped(title)}</title>`,
    `<style>${safe(style)}</style>`,
    '<body>',
    '<noscript>This report is drawn by a script that stands in this file: allow it to run.</noscript>',
    `<script type="application/json" id="records">${inlineJson(content)}</script>`,
    `<script>${safe(script)}</script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n')
}
