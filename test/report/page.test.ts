// The page of a report in a browser: no network, no complaints, marks where the records say, and nothing that keeps people out.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { type PageAssets, type ReportContent, reportPage } from '../../src/report/html.ts'
import { pageAssets } from '../../src/report/page-assets.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { openPage, skip } from './browser.ts'
import { HOSTILE, runLine, trainLine, wholeRun } from './some-run.ts'

const folder = testFolder()
let assets: PageAssets

function pageOf(name: string, content: ReportContent): string {
  const path = join(folder.path, `${name}.html`)
  writeFileSync(path, reportPage('a report', content, assets))
  return pathToFileURL(path).href
}

const oneRun = (name: string, ...of: Parameters<typeof wholeRun>): string =>
  pageOf(name, { kind: 'run', runs: [{ name, lines: wholeRun(...of) }] })

/** Corners of the last line of a chart. */
async function lineOf(page: Page, chart: string): Promise<number[][]> {
  const path = await page.locator(`#chart-${chart} g[data-mark="line"] path`).last().getAttribute('d')
  return [...path!.matchAll(/[ML]?(-?[\d.]+),(-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)])
}

/** What axe finds that keeps people out. */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] } as never),
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`)
}

describe('the page of a report', { skip, timeout: 180_000 }, () => {
  before(async () => {
    assets = await pageAssets()
  })

  it('asks nothing of a network, and nothing goes wrong in it', async () => {
    const url = oneRun('plain', 30)
    const { page, requests, complaints } = await openPage(url)
    assert.deepEqual(requests, [url])
    assert.deepEqual(complaints, [])
    assert.equal(await page.locator('figure.chart svg[role="img"]').count(), 16)
    assert.match((await page.locator('h1').textContent())!, /^Training on feature 7\.svm$/)
    const facts = (await page.locator('.facts').textContent())!
    for (const fact of ['90 %', '5.0e-4', '1,000', '106 MiB', 'while it trained, of 300 MiB allowed'])
      assert.ok(facts.includes(fact), fact)
    assert.match((await page.locator('.verdict').textContent())!, /between 99\.95 and 100: .* within 5\.0e-4/)
  })

  it('has marks where the records say', async () => {
    const { page } = await openPage(oneRun('marks', 30))
    const [from, at, to] = await lineOf(page, 'roc')
    for (const [axis, share] of [0.1, 0.8].entries())
      assert.ok(Math.abs(at[axis] - (from[axis] + share * (to[axis] - from[axis]))) < 0.5, `${axis}: ${at[axis]}`)
    // A point for each record, the gap a straight line on a log axis, but for its certified end.
    const gap = await lineOf(page, 'gap')
    assert.equal(gap.length, 31)
    const slope = (k: number): number => (gap[k + 1][1] - gap[k][1]) / (gap[k + 1][0] - gap[k][0])
    for (let k = 1; k < 29; k++) assert.ok(Math.abs(slope(k) - slope(0)) < 0.02 * Math.abs(slope(0)), `${k}`)
    assert.equal(await page.locator('#chart-gap g[data-mark="dot"] circle').count(), 1, 'one certificate')
    assert.equal(await page.locator('#chart-confusion g[data-mark="cell"] rect').count(), 4)
    assert.deepEqual(await page.locator('#chart-confusion g[data-mark="text"] text').allTextContents(), [
      ...['45', '5', '5', '45'],
    ])
    const widths = await page
      .locator('#chart-features g[data-mark="bar"] rect')
      .evaluateAll(bars => bars.map(bar => Number(bar.getAttribute('width'))))
    assert.ok(Math.abs(widths[0] / widths[1] - 2) < 0.05, `weights 2.5 and −1.25: ${widths}`)
  })

  it('names every tick of a log axis, also where it is narrow', async () => {
    const gaps = [0.999, 0.97, 0.934].map((gap, k) => trainLine(k + 1, { gap }))
    const lines = [runLine({ settings: { tolerance: 1e-300 } }), ...gaps]
    const { page } = await openPage(pageOf('narrow', { kind: 'run', runs: [{ name: 'a', lines }] }))
    const axis = page.locator('#chart-gap g[data-mark="y-axis tick label"] text')
    assert.deepEqual(await axis.allTextContents(), ['0.94', '0.96', '0.98'])
    assert.equal(await page.locator('#chart-gap g[data-mark="y-grid"] line').count(), 3)
  })

  it('shows passes in place of time, and the numbers as a table, when asked', async () => {
    const { page } = await openPage(oneRun('views', 30))
    const chart = page.locator('#chart-objective')
    const before = await lineOf(page, 'objective')
    await chart.getByRole('button', { name: 'passes' }).click()
    assert.notDeepEqual(await lineOf(page, 'objective'), before)
    assert.match((await chart.locator('svg').textContent())!, /passes over the data/)
    await chart.getByText('Numbers').click()
    await chart.locator('table').waitFor()
    assert.equal(await chart.locator('tbody tr').count(), 31)
    assert.deepEqual(await chart.locator('tbody tr').last().locator('th,td').allTextContents(), [
      ...['4.2', '30', '100', '99.95', '5.0e-4', 'yes'],
    ])
  })

  it('is usable by all: axe finds nothing serious in light, dark and narrow', async () => {
    const url = oneRun('usable', 30)
    for (const how of [{}, { dark: true }, { width: 400 }]) {
      const { page } = await openPage(url, how)
      assert.deepEqual(await barriers(page), [], JSON.stringify(how))
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      assert.ok((wide as number) <= 0, `nothing is wider than the page: ${wide}`)
      await page.context().close()
    }
  })

  it('cuts no text of a chart at any width, however long the names are', async () => {
    const url = oneRun('long', 30, {
      label: 'less-or-equal-to-50000',
      name: `occupation of somebody=${'administrative assistance '.repeat(3)}`,
    })
    for (const width of [400, 900, 1600]) {
      const { page } = await openPage(url, { width, dark: width === 900 })
      const cut = await page.evaluate(`[...document.querySelectorAll('.drawing text')].filter(text => {
        const [inner, outer] = [text, text.closest('.drawing')].map(element => element.getBoundingClientRect())
        return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1
      }).map(text => text.textContent)`)
      assert.deepEqual(cut, [], `${width} pixels`)
      await page.context().close()
    }
  })

  it('changes between light and dark', async () => {
    const { page } = await openPage(oneRun('themes', 3))
    const ground = (): Promise<unknown> => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await ground()
    await page.getByRole('button', { name: 'Change to dark colours' }).click()
    assert.notEqual(await ground(), light)
    await page.emulateMedia({ media: 'print' })
    assert.equal(await ground(), 'rgb(255, 255, 255)', 'print is light')
  })

  it('shows names and labels as they are, whatever they hold', async () => {
    const { page, complaints } = await openPage(oneRun('hostile', 3, { label: HOSTILE, name: HOSTILE }))
    assert.equal(await page.evaluate('window.hacked'), undefined)
    assert.equal(await page.locator('img').count(), 0)
    assert.ok((await page.locator('.command').first().textContent())!.includes(HOSTILE))
    assert.deepEqual(complaints, [])
  })

  it('is drawn soon when a run has 10,000 records', async () => {
    const url = oneRun('long', 10_000)
    const began = performance.now()
    const { page, complaints } = await openPage(url)
    const seconds = (performance.now() - began) / 1000
    assert.deepEqual(complaints, [])
    assert.equal(await page.locator('figure.chart svg[role="img"]').count(), 16)
    // It takes half a second on a machine with nothing else to do.
    assert.ok(seconds < 15, `${seconds} s`)
  })

  it('tells of a run that was cut short', async () => {
    const lines = [runLine(), trainLine(1), trainLine(2)]
    const { page, complaints } = await openPage(pageOf('short', { kind: 'run', runs: [{ name: 'a', lines }] }))
    assert.match((await page.locator('.verdict').textContent())!, /^These records end before the run did/)
    assert.deepEqual(complaints, [])
  })

  it('tells of a run that failed, in the words of its error, unless it was resumed', async () => {
    const error = `a.svm, line 3: ${HOSTILE}`
    const end = { record: 'end', error, advice: 'mend the line' } as const
    const failed = [runLine(), trainLine(1), end]
    const { page, complaints } = await openPage(pageOf('failed', { kind: 'run', runs: [{ name: 'a', lines: failed }] }))
    assert.equal(await page.locator('.verdict').textContent(), `The run failed: ${error}mend the line`)
    assert.deepEqual([complaints, await barriers(page)], [[], []])
    // A sum behind the sentence keeps its columns.
    const sum = { record: 'end', error: '20 MiB cannot work:\n  Node  84 MiB\n  allowed       20 MiB' } as const
    const { page: summed } = await openPage(
      pageOf('summed', { kind: 'run', runs: [{ name: 'a', lines: [runLine(), sum] }] }),
      { width: 400 },
    )
    assert.equal(await summed.locator('.verdict > p').textContent(), 'The run failed: 20 MiB cannot work:')
    assert.deepEqual(await summed.locator('.verdict th, .verdict td').allTextContents(), [
      ...['Node', '84 MiB', 'allowed', '20 MiB'],
    ])
    assert.deepEqual(await barriers(summed), [])
    const lines = [...failed, runLine({ resumes: true }), trainLine(2)]
    const { page: later } = await openPage(pageOf('resumed', { kind: 'run', runs: [{ name: 'a', lines }] }))
    assert.match((await later.locator('.verdict').textContent())!, /^These records end before the run did/)
  })

  it('compares runs', async () => {
    const runs = [2, 1].map((factor, k) => ({
      name: `run ${k}`,
      lines: [
        runLine(),
        ...[1, 2, 3, 4, 5].map(pass => trainLine(pass, { primal: 100 + factor * 10 ** -pass, certified: true })),
      ],
    }))
    const { page, complaints } = await openPage(pageOf('compared', { kind: 'compare', runs, best: 100 }))
    assert.deepEqual(complaints, [])
    assert.deepEqual(await barriers(page), [])
    assert.equal(await page.locator('#chart-compare-objective g[data-mark="line"] path').count(), 2)
    assert.equal(await page.locator('#chart-compare-objective g[data-mark="dot"] circle').count(), 10)
    assert.deepEqual(await page.locator('.runs tbody th').allTextContents(), ['run 0', 'run 1'])
  })
})
