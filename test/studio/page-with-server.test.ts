// The studio's page with the studio's server: from a file to a model, a run that is stopped and begun again, and what its answers show.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import type { Run } from '../../src/studio/run-folder.ts'
import { closeBrowserAfter, inPage, noBrowser } from './in-browser.ts'
import { endless, inStudio, smallData } from './studio.ts'

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
})
