// Nothing jumps on the path of a new user: layout shifts, as the browser counts them, stay below what people notice.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { FakeStudio } from './fake-server.ts'
import { closeBrowserAfter, inPage, noBrowser } from './in-browser.ts'

/** What browsers call good. */
const MOST_SHIFT = 0.1

const WATCH = `
  window.shifts = []
  new PerformanceObserver(list => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      const moved = sources.map(({ node }) => (node?.className ?? node?.parentElement?.className ?? '').toString())
      if (!hadRecentInput) window.shifts.push({ value, moved })
    }
  }).observe({ type: 'layout-shift', buffered: true })`

interface Shift {
  value: number
  moved: string[]
}

/** Adds up what has moved so far; frames that are under way are waited for. */
async function shiftsOf(page: Page): Promise<Shift[]> {
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
  return page.evaluate('window.shifts')
}

const sum = (shifts: Shift[]): number => shifts.reduce((all, { value }) => all + value, 0)

closeBrowserAfter()

describe("the layout of the studio's page", { skip: noBrowser }, () => {
  let studio: FakeStudio
  before(async () => {
    studio = await new FakeStudio().open()
  })
  after(() => studio.end())

  for (const width of [400, 900, 1600]) {
    it(`does not jump, at ${width} pixels`, () =>
      inPage(
        studio.address,
        async ({ page }) => {
          await page.evaluate(WATCH)
          const stages: Record<string, Shift[]> = {}
          const note = async (stage: string) => {
            const before = Object.values(stages).flat().length
            stages[stage] = (await shiftsOf(page)).slice(before)
          }
          await page.getByRole('heading', { name: 'Choose a file to begin' }).waitFor()
          await note('open')
          await page.locator('.files a[href="#/file/news.svm"]').click()
          await page.locator('#chart-row-lengths svg').waitFor()
          await page.locator('.blocks .value').waitFor()
          await note('choose')
          await page.getByLabel('Memory', { exact: true }).focus()
          for (let k = 0; k < 43; k++) await page.keyboard.press('ArrowLeft')
          await page.locator('.blocks .value').filter({ hasText: '28 in memory' }).waitFor()
          await note('plan')
          studio.hold = true
          await page.getByRole('button', { name: 'Train', exact: true }).click()
          await page.locator('#chart-gap svg').waitFor()
          await note('train')
          studio.hold = false
          await page.locator('.run-head .chip').filter({ hasText: 'done' }).waitFor()
          await page.locator('#chart-roc svg').waitFor()
          await note('watch')
          const all = sum(Object.values(stages).flat())
          assert.ok(all < MOST_SHIFT, `${all} in all: ${JSON.stringify(stages, null, 1)}`)
        },
        { width, height: 900 },
      ))
  }
})
