// Labels of text in a manifest: what is read back, and what is refused.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { checkManifest } from '../../src/block-store/manifest.ts'
import { SpillwayError } from '../../src/errors.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { sameCode } from '../input-formats/labels.ts'

const folder = testFolder()

describe('labels of text in a manifest', () => {
  test('are null and their text; numbers are as before', async () => {
    const store = join(folder.path, 'a.spill')
    await ingest(folder.write('a.svm', 'cat 1:1\n+1 2:1\ncat 1:2\n'), store, { threads: 1 })
    const written = JSON.parse(readFileSync(join(store, 'manifest.json'), 'utf8'))
    assert.deepEqual(written.labels, [
      { value: null, text: 'cat', rows: 2 },
      { value: 1, text: '+1', rows: 1 },
    ])
    const withLabel = (text: unknown, value: unknown = null): unknown => ({
      ...written,
      labels: [...written.labels, { value, text, rows: 0 }],
    })
    assert.deepEqual(checkManifest(withLabel('dog'), 'm').labels.at(-1), { value: null, text: 'dog', rows: 0 })
    const refused = (manifest: unknown, words: RegExp): void =>
      assert.throws(
        () => checkManifest(manifest, 'm'),
        (error: Error) => error instanceof SpillwayError && words.test(error.message),
      )
    for (const text of ['', 'a b', 'a:b', '12', '#x', 'x'.repeat(256)])
      refused(withLabel(text), /labels\[2\]\.text is .*, expected a label/)
    refused(withLabel(7), /labels\[2\]\.text is 7, expected a text/)
    refused(withLabel('x', 'y'), /labels\[2\]\.value is "y", expected a number/)
    refused(withLabel('cat'), /the labels "cat" and "cat" have the same code/)
    const [one, other] = sameCode()
    refused(
      { ...written, labels: [one, other].map(text => ({ value: null, text, rows: 1 })) },
      /m: the labels .* have the same code \([0-9a-f]{16}\): a store cannot tell them apart/,
    )
  })
})
