// The demo: makes data, trains, predicts, shows the certificate, and says what to try next. Everything it runs is a
// command that a user could type.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../bin/spillway.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'spillway-demo-'))

function step(what: string, ...words: string[]): void {
  process.stdout.write(`\n${what}\n$ spillway ${words.join(' ')}\n`)
  const { status } = spawnSync(process.execPath, [program, ...words], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) {
    process.stdout.write(`\nThat failed with exit code ${status}. The files are in ${folder}.\n`)
    process.exit(1)
  }
}

process.stdout.write('Spillway trains linear classifiers to the exact optimum, and proves it.\n')
step(
  '1. Data: 60 MB of text, like web documents, and a test set from the same source.',
  ...[
    'generate',
    '--like',
    'yahoo-korea',
    'pages.svm',
    '--size',
    '60M',
    '--test',
    'pages.t.svm',
    '--test-rows',
    '5000',
  ],
)
step('2. A look at it.', 'inspect', 'pages.svm')
step(
  '3. Training: a support vector machine, C = 1. The gap between primal and dual is the certificate.',
  'train',
  'pages.svm',
)
step('4. Predicting.', 'predict', 'pages.t.svm', 'pages.svm.model', 'labels.txt')
step(
  '5. The text once into a block store, a seventh of its size; training reads that from now on.',
  'ingest',
  'pages.svm',
  'pages.spill',
)
step(
  '6. The exact optimum from the store: a thousand times closer.',
  'train',
  'pages.spill',
  'exact.model',
  '--tolerance',
  '1e-6',
)
rmSync(folder, { recursive: true })
process.stdout.write(`
What to try next:
  npx spillway train YOUR.svm --loss logistic --normalize unit --test YOUR.t.svm
  npx spillway train -s 1 -c 4 -B 1 YOUR.svm          the options of LIBLINEAR
  npx spillway convert YOUR.svm.model ll.model --to liblinear
  npx spillway --help
`)
