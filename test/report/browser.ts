// Chromium for tests of pages: started once for a file of tests, and closed behind them.
import { existsSync } from 'node:fs'
import { after } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

/** Why tests in a browser are left out, if they are. */
export const skip = program === undefined && 'there is no chromium here'

let started: Promise<Browser> | undefined

function browser(): Promise<Browser> {
  started ??= chromium.launch({
    executablePath: program!,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
  return started
}

after(async () => (await started)?.close())

export interface Opened {
  page: Page
  /** Addresses that were asked for, and what went wrong. */
  requests: string[]
  complaints: string[]
}

/** Opens a report and waits until it is drawn. */
export async function openPage(
  url: string,
  { width = 900, dark = false }: { width?: number; dark?: boolean } = {},
): Promise<Opened> {
  const context = await (await browser()).newContext({
    ...{ viewport: { width, height: 1000 }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' },
  })
  const page = await context.newPage()
  const requests: string[] = []
  const complaints: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(String(error)))
  await page.goto(url)
  await page.waitForSelector('html[data-drawn]', { timeout: 60_000, state: 'attached' })
  return { page, requests, complaints }
}
