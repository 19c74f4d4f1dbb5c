// Takes the pictures of docs/: real runs on generated data, their reports opened in Chromium, each chart cut out. `node scripts/pictures.ts [LOOKS [RUNS]]`.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Browser, chromium } from 'playwright-core'
import { smallPng } from './small-png.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const pictures = join(root, 'docs/pictures')
/** Larger pictures make a clone slow. */
const MOST_BYTES = 60_000

/** One run in steps, with a test after each: its records have the accuracy over time. */
function inSteps(solver: string): string[] {
  const line = `train web.svm ${solver}.model --solver ${solver} --store ${solver}.spill --memory 216M --tolerance 1e-6`
  return [1, 2, 3, 5, 8, 13, 21].map(
    passes =>
      `${line} --max-passes ${passes} --resume --test web.t.svm --record ${solver}.jsonl --report ${solver}.html`,
  )
}

/** Commands that a user could type, in the order in which they need each other. */
const COMMANDS = [
  'generate --like webspam pages.svm --size 700M --test pages.t.svm --test-rows 4000',
  'train pages.svm pages.model --memory 224M --tolerance 1e-4 --test pages.t.svm --report blocks.html',
  'generate --like yahoo-korea web.svm --size 120M --test web.t.svm --test-rows 5000',
  ...['stream', 'block', 'selective'].flatMap(inSteps),
  'compare stream.jsonl block.jsonl selective.jsonl --out compare.html',
  'generate --like clicks clicks.svm --rows 40000 --test clicks.t.svm --test-rows 10000',
  'train clicks.svm clicks.model --loss logistic --test clicks.t.svm --report logistic.html',
  'tune clicks.svm --cost 2^-10..2^0 --folds 5 --report tune.html',
]

/** Charts by the page they are on. */
const CHARTS: Record<string, string[]> = {
  'blocks.html': ['objective', 'gap', 'time', 'memory', 'rows', 'bytes-read', 'memory-plan', 'features', 'row-lengths'],
  'selective.html': ['test-accuracy'],
  'logistic.html': ['roc', 'precision-recall', 'confusion', 'calibration', 'labels', 'values'],
  'tune.html': ['costs'],
  'compare.html': ['compare-objective', 'compare-accuracy'],
}

function runAll(folder: string): void {
  for (const line of COMMANDS) {
    process.stdout.write(`$ spillway ${line}\n`)
    const words = [join(root, 'bin/spillway.js'), ...line.split(' ')]
    const { status } = spawnSync(process.execPath, words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0) throw new Error(`spillway ${line} ended with ${status}`)
  }
}

async function open(browser: Browser, url: string, width: number, dark = false) {
  const page = await browser.newPage({
    ...{ viewport: { width, height: 800 }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' },
  })
  await page.goto(url)
  await page.waitForSelector('html[data-drawn]', { state: 'attached' })
  return page
}

async function takeAll(folder: string, looks: string | undefined): Promise<void> {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    for (const [file, charts] of Object.entries(CHARTS)) {
      const url = pathToFileURL(join(folder, file)).href
      const page = await open(browser, url, 640)
      for (const chart of charts) {
        const found = page.locator(`#chart-${chart}`)
        if ((await found.count()) === 0) throw new Error(`${file} has no chart ${chart}`)
        await found.screenshot({ path: join(pictures, `${chart}.png`) })
      }
      await page.close()
      if (looks !== undefined) await lookAt(browser, url, join(looks, file))
    }
    const head = await open(browser, pathToFileURL(join(folder, 'blocks.html')).href, 1000)
    await head.screenshot({ path: join(pictures, 'report.png'), clip: { x: 0, y: 0, width: 1000, height: 800 } })
    makeSmaller()
  } finally {
    await browser.close()
  }
}

function makeSmaller(): void {
  for (const name of [...Object.values(CHARTS).flat(), 'report']) {
    const path = join(pictures, `${name}.png`)
    writeFileSync(path, smallPng(readFileSync(path)))
  }
}

/** The whole page in each theme and at several widths, for somebody to look at. */
async function lookAt(browser: Browser, url: string, path: string): Promise<void> {
  for (const dark of [false, true]) {
    for (const width of [400, 900, 1600]) {
      const page = await open(browser, url, width, dark)
      await page.screenshot({ path: `${path}-${width}-${dark ? 'dark' : 'light'}.png`, fullPage: true })
      await page.close()
    }
  }
}

// LOOKS is a folder for pictures of whole pages; RUNS is one in which the commands above have been run already.
const [looks, runs] = process.argv.slice(2)
const folder = runs ?? mkdtempSync(join(tmpdir(), 'spillway-pictures-'))
mkdirSync(pictures, { recursive: true })
try {
  if (runs === undefined) runAll(folder)
  await takeAll(folder, looks || undefined)
  for (const name of [...Object.values(CHARTS).flat(), 'report']) {
    const { size } = statSync(join(pictures, `${name}.png`))
    if (size > MOST_BYTES) throw new Error(`${name}.png has ${size} bytes, more than ${MOST_BYTES}`)
  }
} finally {
  if (runs === undefined) rmSync(folder, { recursive: true })
}
