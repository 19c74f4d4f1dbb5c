// A headless browser for tests of the studio's page: it notes every error of the console and every request to another origin.
import { existsSync, readFileSync } from 'node:fs'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'

export const BROWSER = '/usr/bin/chromium'
/** Why tests are left out; false where they are not. */
export const noBrowser: string | false = !existsSync(BROWSER) && `there is no ${BROWSER} here`
/** Long enough for a busy machine. */
export const PATIENCE = 45_000

let browser: Promise<Browser> | undefined

function theBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    executablePath: BROWSER,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
      ...['--disable-sync', '--no-first-run', '--disable-dev-shm-usage'],
    ],
  })
  return browser
}

export interface Opened {
  page: Page
  /** What went wrong, in words: errors of the console, and requests to other origins. */
  troubles: string[]
}

export interface Look {
  width?: number
  height?: number
  theme?: 'light' | 'dark'
}

/** Opens an address in a profile of its own, uses it, and closes it. */
export async function inPage<T>(
  address: string,
  use: (opened: Opened) => Promise<T>,
  { width = 1280, height = 900, theme = 'light' }: Look = {},
): Promise<T> {
  const context = await (await theBrowser()).newContext({ viewport: { width, height }, colorScheme: theme })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const troubles: string[] = []
  const { origin } = new URL(address)
  page.on('console', message => message.type() === 'error' && troubles.push(message.text()))
  page.on('pageerror', error => void troubles.push(String(error)))
  page.on('request', request => {
    const other = request.url()
    if (!other.startsWith(`${origin}/`) && !other.startsWith('data:')) troubles.push(`asked ${other}`)
  })
  try {
    await page.goto(address)
    return await use({ page, troubles })
  } finally {
    await context.close()
  }
}

export function closeBrowserAfter(): void {
  after(async () => (await browser)?.close())
}

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Serious faults that axe finds, in words: by some of its rules, or all of them. */
export async function seriousFaults(page: Page, rules: string[] = []): Promise<string[]> {
  const options = { resultTypes: ['violations'], ...(rules.length > 0 && { runOnly: { type: 'rule', values: rules } }) }
  await page.evaluate(axe)
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as {
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[]
  }
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 120)} ${failureSummary}`),
    )
}
