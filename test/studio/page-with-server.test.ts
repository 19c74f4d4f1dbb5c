// The studio's page with the studio's server: from a file to a model, a run that is stopped and begun again, and what its answers show.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import type { Run } from '../../src/studio/run-folder.ts'
import { good } from '../cli/run.ts'
import { closeBrowserAfter, inPage, noBrowser, seriousFaults } from './in-browser.ts'
import { endless, inStudio, smallData, until } from './studio.ts'

closeBrowserAfter()

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const state = (page: Page, name: string) => page.locator('.run-head .chip').filter({ hasText: name }).waitFor()

describe("the studio's page with its server", { skip: noBrowser }, () => {
  it('trains on a file, and shows the numbers of the run', () =>
    inStudio(async (studio, server) => {
      studio.write('a.svm', smallData)
      studio.write('t.svm', smallData)
      await inPage(server.url, async ({ page, troubles }) => {
        await page.getByRole('link', { name: 'a.svm' }).click()
        await page.locator('.summary').filter({ hasText: '300' }).waitFor()
        await page.getByLabel('Test file').selectOption('t.svm')
        await button(page, 'Train').click()
        await state(page, 'done')
        const { runs } = await studio.get<{ runs: Run[] }>('/api/runs')
        const { primal, test } = runs[0].result as { primal: number; test: { accuracy: number } }
        const shown = await page.locator('[data-number=primal]').textContent()
        assert.equal(shown, String(Number(primal.toPrecision(8))))
        const accuracy = `${Number((100 * test.accuracy).toFixed(2))} % of 300 rows are right.`
        await page.locator('.panel').filter({ hasText: accuracy }).waitFor()
        await page.locator('.matrix-cell:enabled').first().click()
        await page.locator('.row-list button').first().click()
        await page.locator('.verdict').waitFor()
        assert.ok((await page.locator('.contributions tbody tr').count()) > 0)
        assert.deepEqual(troubles, [])
      })
    }))

  it('says that strings want an expansion, and takes one', () =>
    inStudio(async (studio, server) => {
      studio.write('s.txt', '+1 ACGT\n-1 TTTA\n+1 ACCT\n-1 TGTA\n'.repeat(20))
      await inPage(server.url, async ({ page, troubles }) => {
        await page.getByRole('link', { name: 's.txt' }).click()
        const notice = page.locator('.plan-picture .notice.warning')
        await notice.filter({ hasText: 'Rows are strings' }).waitFor()
        assert.deepEqual(await seriousFaults(page), [])
        await button(page, 'Use weighted-degree:8').click()
        await notice.waitFor({ state: 'detached' })
        assert.equal(await page.getByLabel('Expand features').inputValue(), 'weighted-degree:8')
        await button(page, 'Train').click()
        await state(page, 'done')
        const { runs } = await studio.get<{ runs: Run[] }>('/api/runs')
        assert.deepEqual(runs[0].options, { expand: 'weighted-degree:8' })
        assert.deepEqual(troubles, [])
      })
    }))

  it('stops a run, begins it again, and deletes it', () =>
    inStudio(async (studio, server) => {
      studio.write('a.svm', smallData)
      const { id } = await studio.post<Run>('/api/runs', { data: 'a.svm', options: endless, name: 'endless' })
      await inPage(`${server.url}#/run/${id}`, async ({ page, troubles }) => {
        await state(page, 'running')
        await page.locator('[data-number=stage]').filter({ hasText: /pass/ }).waitFor()
        await button(page, 'Stop').click()
        await state(page, 'stopped')
        // It has all rows in memory, and so no checkpoint.
        await button(page, 'Run again').click()
        await state(page, 'running')
        await button(page, 'Stop').click()
        await state(page, 'stopped')
        await button(page, 'Delete').click()
        await button(page, 'Delete for good?').click()
        await page.getByRole('heading', { name: 'Choose a file to begin' }).waitFor()
        assert.deepEqual((await studio.get<{ runs: Run[] }>('/api/runs')).runs, [])
        assert.deepEqual(troubles, [])
      })
    }))

  it('is quick with a model of a million features', () =>
    inStudio(async (studio, server) => {
      const row = (r: number): string =>
        `${r % 2 === 0 ? 1 : -1} ${Array.from({ length: 10_000 }, (_, k) => `${r * 10_000 + k + 1}:1`).join(' ')}\n`
      studio.write('wide.svm', Array.from({ length: 100 }, (_, r) => row(r)).join(''))
      const options = { test: 'wide.svm', maxPasses: 3 }
      const { id } = await studio.post<Run>('/api/runs', { data: 'wide.svm', name: 'wide', options })
      const { result } = await until(studio, id, 'done')
      assert.equal((result as { features: number }).features, 1_000_000)
      await inPage(`${server.url}#/run/${id}`, async ({ page, troubles }) => {
        const began = performance.now()
        await page.locator('#chart-features svg').waitFor()
        await page.locator('.matrix-cell:enabled').first().click()
        // The row has more text than a list shows: all of it is asked for.
        await page.locator('.row-list button').first().click()
        await page.locator('.verdict').waitFor()
        assert.equal(await page.locator('.contributions tbody tr').count(), 20)
        assert.ok(performance.now() - began < 20_000, `${performance.now() - began} ms`)
        assert.deepEqual(troubles, [])
      })
    }))

  it('puts two runs side by side, with the numbers of their results', () =>
    inStudio(async (studio, server) => {
      studio.write('a.svm', smallData)
      await good(['ingest', 'a.svm', 'a.spill', '-q', '--blocks', '4'], { cwd: studio.folder })
      const runs: Run[] = []
      for (const [data, name] of [
        ['a.svm', 'text'],
        ['a.spill', 'store'],
      ]) {
        const solver = data === 'a.svm' ? 'dual' : 'block'
        const { id } = await studio.post<Run>('/api/runs', { data, name, options: { test: 'a.spill', solver } })
        runs.push(await until(studio, id, 'done'))
      }
      await inPage(server.url, async ({ page, troubles }) => {
        await page.getByLabel('Compare text').check()
        await page.getByLabel('Compare store').check()
        await button(page, 'Compare 2 runs').click()
        await page.getByRole('heading', { name: '2 runs side by side' }).waitFor()
        await page.locator('#chart-compare-objective svg').waitFor()
        const heads = await page.locator('.compared thead th').allTextContents()
        assert.deepEqual([...heads].sort(), ['store', 'text'])
        const cells = async (title: string): Promise<string[]> => {
          const row = page
            .locator('.compared tbody tr')
            .filter({ has: page.getByRole('rowheader', { name: title, exact: true }) })
          // Results come before settings, which may have the same names.
          return row.first().locator('td').allTextContents()
        }
        const results = heads.map(head => runs.find(({ name }) => name === head)!.result as CertifiedResult)
        assert.deepEqual(
          await cells('Objective'),
          results.map(({ primal }) => String(Number(primal.toPrecision(8)))),
        )
        assert.deepEqual(
          await cells('Gap'),
          results.map(({ gap }) => gap.toExponential(1)),
        )
        assert.deepEqual(
          await cells('Solver'),
          heads.map(head => (head === 'text' ? 'dual' : 'block')),
        )
        assert.deepEqual(
          await cells('Test accuracy'),
          results.map(({ test }) => `${Number((100 * test.accuracy).toFixed(2))} %`),
        )
        assert.deepEqual(
          await cells('Passes'),
          results.map(({ passes }) => String(passes)),
        )
        // Both solve one problem: nothing warns.
        assert.equal(await page.locator('.warning').count(), 0)
        // A run that is over leads back from its name.
        await page.locator('.compared thead a').first().click()
        await page.getByRole('heading', { name: heads[0], exact: true }).waitFor()
        // The data to test on is a store: its rows know where they came from.
        await page.locator('.matrix-cell:enabled').first().click()
        await page
          .locator('.row-list .hint')
          .filter({ hasText: /^row \d+ of .*a\.svm$/ })
          .first()
          .waitFor()
        await page.evaluate(`location.hash = '#/file/a.spill'`)
        await page.locator('#chart-row-lengths svg').waitFor()
        assert.equal((await page.locator('.lines').textContent())!.split('\n').length, 5)
        assert.deepEqual(troubles, [])
      })
    }))
})

interface CertifiedResult {
  primal: number
  gap: number
  passes: number
  test: { accuracy: number }
}
