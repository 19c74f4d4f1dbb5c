// The studio's page in a browser, against a server that plays its part: the path of a new user, and what can go wrong on it.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { explained } from './fake-answers.ts'
import { CONFUSION } from './fake-records.ts'
import { FakeStudio } from './fake-server.ts'
import { closeBrowserAfter, inPage, noBrowser, PATIENCE, seriousFaults } from './in-browser.ts'

const chip = (page: Page) => page.locator('.run-head .chip')
const number = (page: Page, name: string) => page.locator(`[data-number=${name}]`)
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** Waits until an element shows a text. */
async function shows(page: Page, selector: string, text: string | RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor()
}

/** How far the page is wider than its window. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

closeBrowserAfter()

describe("the studio's page", { skip: noBrowser }, () => {
  let studio: FakeStudio
  before(async () => {
    studio = await new FakeStudio().open()
  })
  after(() => studio.end())

  it('takes a new user from a file to a model, and on', () =>
    inPage(studio.address, async ({ page, troubles }) => {
      await page.getByRole('heading', { name: 'Choose a file to begin' }).waitFor()
      assert.ok(!page.url().includes('token'), 'the token leaves the address')
      await chooseFile(page)
      await planWithSlider(page)
      await asksForOutliers(page)
      studio.hold = true
      await trainAndWatch(page)
      await stopAndResume(page, studio)
      await readResult(page, studio)
      await openCell(page)
      await askForRow(page)
      await compareTwo(page)
      // The browser itself notes the answer to the row that is none.
      assert.deepEqual(
        troubles.filter(text => !text.includes('status of 400')),
        [],
      )
    }))

  it('says so when the token is wrong, and shows nothing', () =>
    inPage(`${studio.url}/?token=guessed`, async ({ page, troubles }) => {
      await page.getByRole('heading', { name: 'This address has no valid token' }).waitFor()
      assert.equal(await page.locator('.files').count(), 0)
      assert.ok(troubles.every(text => text.includes('401')))
    }))

  it('shows the sentence of a run that fails', () =>
    inPage(`${studio.address}#/file/broken.svm`, async ({ page, troubles }) => {
      await shows(page, '.summary .warning', '2 rows of the beginning cannot be read. The first is broken.svm, line 3')
      await button(page, 'Train').click()
      await shows(page, '.run-head .chip', 'failed')
      await shows(page, '.problem', 'broken.svm, line 3: found "x" where a feature was expected')
      assert.equal(await button(page, 'Resume').isVisible(), false)
      await shows(page, '#live', 'failed')
      assert.deepEqual(troubles, [])
    }))

  it('says when the server has gone, and goes on when it is back', () =>
    inPage(studio.address, async ({ page }) => {
      await shows(page, '#connection', /^connected$/)
      const { port } = new URL(studio.url)
      await studio.close()
      await shows(page, '#banner', 'The studio does not answer.')
      await page.getByRole('link', { name: /news-test\.svm/ }).click()
      await shows(page, '.summary .error', 'Is `spillway studio` still running?')
      await studio.open(Number(port))
      await shows(page, '#connection', /^connected$/)
      assert.equal(await page.locator('#banner').isVisible(), false)
    }))

  it('asks for the label of a table', () =>
    inPage(`${studio.address}#/file/customers/churn.csv`, async ({ page, troubles }) => {
      await shows(page, '.plan-picture', 'which column is the label?')
      await shows(page, '.summary', 'choose the label first')
      await page.getByLabel('Label column').selectOption('churned')
      await shows(page, '#solver-reason', 'dual: all rows fit in memory')
      await page.locator('#chart-labels svg').waitFor()
      assert.deepEqual(troubles, [])
    }))

  it('says what is missing where an address leads nowhere', () =>
    inPage(`${studio.address}#/run/none`, async ({ page }) => {
      await page.getByRole('heading', { name: 'No such run' }).waitFor()
      await page.evaluate(`location.hash = '#/file/none.svm'`)
      await shows(page, '.error', 'The folder has no file none.svm.')
    }))

  it('takes names for text, never for markup', () =>
    inPage(studio.address, async ({ page, troubles }) => {
      const name = '<img src=x onerror=alert(1)>'
      const id = studio.addDone(name, { steps: 8 })
      await page.reload()
      await page.evaluate(`location.hash = '#/run/${id}'`)
      await page.getByRole('heading', { name }).waitFor()
      assert.equal(await page.locator('img').count(), 0)
      assert.deepEqual(troubles, [])
    }))
})

describe("the studio's page with a long run", { skip: noBrowser }, () => {
  it('is there soon, and answers', async () => {
    const studio = await new FakeStudio().open()
    const id = studio.addDone('long', { steps: 10_000, blocks: 300, stepsPerPass: 300 })
    try {
      await inPage(`${studio.address}#/run/${id}`, async ({ page, troubles }) => {
        const began = performance.now()
        await shows(page, '[data-number=gap]', '7.0e-4')
        await page.locator('#chart-gap svg').waitFor()
        assert.ok(performance.now() - began < 20_000)
        // Lines are thinned; an area has two of them.
        const longest = await page.evaluate(
          `Math.max(...[...document.querySelectorAll('.drawing path')].map(path => path.getAttribute('d').split('L').length))`,
        )
        assert.ok((longest as number) <= 3200, `${longest} points`)
        const asked = performance.now()
        await page.getByLabel('A row, as it stands in the file').fill('3:1')
        await page.keyboard.press('Enter')
        await shows(page, '.verdict', '+1')
        assert.ok(performance.now() - asked < 10_000)
        assert.deepEqual(troubles, [])
      })
    } finally {
      await studio.end()
    }
  })
})

describe("the studio's page for everybody", { skip: noBrowser }, () => {
  let studio: FakeStudio
  let views: string[]
  before(async () => {
    studio = await new FakeStudio().open()
    const script = { steps: 40, blocks: 24 }
    const runs = [
      studio.addDone('first', script, { cost: 1 }),
      studio.addDone('second', { ...script, worse: 1.01 }, { cost: 1, solver: 'block' }),
    ]
    views = ['#/', '#/file/customers/churn.csv', `#/run/${runs[0]}`, `#/compare/${runs.join('/')}`]
  })
  after(() => studio.end())

  for (const theme of ['light', 'dark'] as const) {
    it(`has no serious fault that axe finds, in ${theme} colours`, () =>
      inPage(
        studio.address,
        async ({ page, troubles }) => {
          // What is not about colours is the same in both.
          const rules = theme === 'dark' ? ['color-contrast'] : []
          for (const view of views) {
            await open(page, view)
            assert.deepEqual(await seriousFaults(page, rules), [], view)
          }
          assert.deepEqual(troubles, [])
        },
        { theme },
      ))
  }

  it('fits into the width of a phone', () =>
    inPage(
      studio.address,
      async ({ page }) => {
        for (const view of views) {
          await open(page, view)
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme })
            assert.ok((await overflow(page)) <= 0, `${view} is wider than the window`)
          }
        }
        await page.evaluate(`location.hash = '#/file/news.svm'`)
        await page.getByLabel('Memory', { exact: true }).press('Home')
        await page.locator('.with-more').waitFor()
        assert.ok((await overflow(page)) <= 0, 'a plan that is refused is wider than the window')
      },
      { width: 400, height: 800 },
    ))

  it('can be used with the keyboard alone', () =>
    inPage(studio.address, async ({ page }) => {
      await page.locator('.files').waitFor()
      await page.keyboard.press('Tab')
      assert.equal(await focused(page), 'Skip to the view')
      await page.getByLabel('Search files').focus()
      await page.keyboard.type('broken')
      await shows(page, '#files [role=status]', '1 of 7')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'broken.svm' }).waitFor()
      await page.getByLabel('Search files').focus()
      await page.keyboard.press('Escape')
      await shows(page, '#files [role=status]', '7 of 7')
      await page.getByLabel('Memory', { exact: true }).focus()
      await page.keyboard.press('Home')
      assert.equal(await page.getByLabel('Memory', { exact: true }).getAttribute('aria-valuetext'), '64 MiB')
      await shows(page, '.plan-picture', 'give --memory 128M or more')
      assert.ok(await button(page, 'Train').isDisabled())
      // In the place of the plan stands what would run, and a way there.
      await shows(page, '.with-more', /With 128 MiB of memory it would run, by solver selective/)
      await shows(page, '.with-more .blocks .value', '52 blocks')
      await button(page, 'Use 128 MiB').focus()
      await page.keyboard.press('Enter')
      await page.locator('.with-more').waitFor({ state: 'detached' })
      assert.equal(await page.evaluate('document.activeElement.id'), 'memory')
      assert.ok(await button(page, 'Train').isEnabled())
    }))

  it('keeps the colours that were chosen', () =>
    inPage(studio.address, async ({ page }) => {
      await button(page, 'Change to dark colours').click()
      await page.reload()
      await button(page, 'Change to light colours').waitFor()
      assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
    }))

  beforeEach(() => assert.equal(studio.refused, 0))
})

const focused = (page: Page): Promise<string> => page.evaluate('document.activeElement.textContent')

/** Goes to a view, and waits until it is drawn. */
async function open(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = '${view}'`)
  if (view.startsWith('#/file')) await page.locator('#chart-row-lengths svg').waitFor()
  else if (view.startsWith('#/run')) await page.locator('#chart-roc svg').waitFor()
  else if (view.startsWith('#/compare')) await page.locator('#chart-compare-objective svg').waitFor()
  else await page.locator('.steps').waitFor()
}

async function chooseFile(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'news.svm' }).click()
  await shows(page, '.summary', 'about 200,000')
  await shows(page, '.summary', '+1 3:1 7:0.5 19:2.25')
  await page.locator('#chart-row-lengths svg').waitFor()
  assert.equal(await page.locator('.files [aria-current]').getAttribute('href'), '#/file/news.svm')
}

async function planWithSlider(page: Page): Promise<void> {
  await shows(page, '#solver-reason', 'dual: all rows fit in memory')
  await shows(page, '.blocks .value', 'all in memory')
  const slider = page.getByLabel('Memory', { exact: true })
  await slider.focus()
  // Eight steps are half of it.
  for (let k = 0; k < 43; k++) await page.keyboard.press('ArrowLeft')
  await shows(page, '#solver-reason', 'selective: the rows are larger than the memory')
  await shows(page, '.memory-parts .value', /of 431 MiB/)
  await shows(page, '.blocks .value', '52 blocks, 28 in memory at a time')
  assert.equal(await page.locator('.cells .cell').count(), 52)
  assert.equal(await page.locator('.cells .cell.in').count(), 28)
  await page.getByLabel('Cost C').fill('2')
  await page.getByLabel('Test file').selectOption('news-test.svm')
  await page.getByLabel('Name of the run').fill('my run')
}

/** Only a loss that gives rows up has a margin for them. */
async function asksForOutliers(page: Page): Promise<void> {
  const margin = page.getByLabel('Outliers beyond')
  assert.equal(await margin.isVisible(), false)
  await page.getByLabel('Loss').selectOption('ramp')
  await margin.waitFor({ state: 'visible' })
  await page.getByLabel('Loss').selectOption('hinge')
  await margin.waitFor({ state: 'hidden' })
}

async function trainAndWatch(page: Page): Promise<void> {
  await button(page, 'Train').click()
  await page.getByRole('heading', { name: 'my run' }).waitFor()
  await shows(page, '.command', '--cost=2')
  await shows(page, '[data-number=stage]', /pass [1-9]/)
  await shows(page, '[data-number=memory]', /^15\d of 256 MiB$/)
  await page.locator('.store .cell[data-state=reading]').first().waitFor()
  assert.equal(await page.locator('.store-cells .cell').count(), 24)
  assert.match((await page.locator('.store-cells').getAttribute('aria-label'))!, /^Pass \d+: \d+ of 24 blocks met/)
  await page.locator('#chart-objective svg').waitFor()
}

async function stopAndResume(page: Page, studio: FakeStudio): Promise<void> {
  await button(page, 'Stop').click()
  await shows(page, '.run-head .chip', 'stopped')
  await shows(page, '.problem', 'Resume goes on from where it was.')
  assert.equal(await button(page, 'Stop').isVisible(), false)
  const links = page.locator('.actions a:visible')
  assert.deepEqual(await links.allTextContents(), ['Model', 'Report', 'Records'], 'the model so far is kept')
  await button(page, 'Resume').click()
  await shows(page, '.run-head .chip', 'running')
  assert.deepEqual(await links.allTextContents(), ['Records'])
  studio.hold = false
  await shows(page, '.run-head .chip', 'done')
  assert.equal(await chip(page).textContent(), 'done')
}

/** The numbers are those of the records. */
async function readResult(page: Page, studio: FakeStudio): Promise<void> {
  const id = studio.ids().at(-1)!
  const result = studio.lines(id).at(-1) as unknown as { primal: number; gap: number; passes: number }
  await shows(page, '[data-number=stage]', `${result.passes} passes`)
  assert.equal(await number(page, 'primal').textContent(), String(result.primal))
  assert.equal(await number(page, 'gap').textContent(), result.gap.toExponential(1))
  const steps = studio.lines(id).filter(line => line.record === 'progress' && line.stage === 'train')
  const certified = steps.filter(line => 'certified' in line && line.certified)
  const dots = await page.locator('#chart-gap svg [data-mark=dot] circle').count()
  assert.equal(dots, certified.length)
  const links = page.locator('.actions a:visible')
  assert.deepEqual(await links.allTextContents(), ['Model', 'Report', 'Records'])
  assert.match((await links.first().getAttribute('href'))!, new RegExp(`^/api/runs/${id}/model\\?token=`))
}

async function openCell(page: Page): Promise<void> {
  const cells = await page.locator('.matrix-cell').allTextContents()
  assert.deepEqual(
    cells,
    CONFUSION.counts.flat().map(count => count.toLocaleString('en-US')),
  )
  await button(page, '100 rows of +1 predicted as -1').click()
  await shows(page, '.cell-rows', '100 rows of +1 predicted as -1, the first 3')
  assert.equal(await page.locator('.row-list tbody tr').count(), 3)
  await button(page, 'Why line 10?').click()
  const row = page.getByLabel('A row, as it stands in the file')
  assert.equal(await row.inputValue(), '+1 1:1 7:0.5')
  // A row that was cut is asked for again.
  const whole = page.waitForResponse(response => response.url().includes('line=12'))
  await button(page, 'Why line 12?').click()
  await whole
  // The page's policy forbids what a wait inside of it would need, so the test asks from outside.
  const until = Date.now() + PATIENCE
  while ((await row.inputValue()) !== '+1 3:1 7:0.5' && Date.now() < until) await delay(20)
  assert.equal(await row.inputValue(), '+1 3:1 7:0.5')
}

async function askForRow(page: Page): Promise<void> {
  const row = page.getByLabel('A row, as it stands in the file')
  await row.fill('nonsense')
  await page.keyboard.press('Enter')
  await shows(page, '.answer', 'the row "nonsense" has no feature:value')
  await row.fill('3:1 7:0.5')
  await button(page, 'Predict').click()
  await shows(page, '.verdict', '+1')
  await shows(page, '.verdict', '87 %')
  const { features } = explained('1:1')!
  const others = features.slice(20).reduce((sum, { contribution }) => sum + contribution, 0)
  await shows(page, '.answer', `All other features add ${Number(others.toPrecision(4))}.`)
  assert.equal(await page.locator('.contributions tbody tr').count(), 20)
}

async function compareTwo(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'news.svm', exact: false }).first().click()
  await page.getByLabel('Name of the run').fill('other run')
  await button(page, 'Train').click()
  await page.getByRole('heading', { name: 'other run' }).waitFor()
  await shows(page, '.run-head .chip', 'done')
  await page.getByLabel('Compare my run').check()
  await page.getByLabel('Compare other run').check()
  await button(page, 'Compare 2 runs').click()
  await page.getByRole('heading', { name: '2 runs side by side' }).waitFor()
  await page.locator('#chart-compare-objective svg').waitFor()
  const heads = await page.locator('.compared thead th').allTextContents()
  assert.deepEqual(heads.sort(), ['my run', 'other run'])
  await shows(page, '.compared', '1234.5')
}
