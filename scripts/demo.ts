// The demo: trains on data that is several times as large as the memory it allows itself, shows plan, passes and certificate,
// predicts, draws a report, and says what to try next. Everything it runs is a command that a user could type.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../bin/spillway.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'spillway-demo-'))
const MEMORY = '256M'
/** More than five times that. */
const SIZE = '1300M'

function step(what: string, words: string): void {
  process.stdout.write(`\n${what}\n$ spillway ${words}\n`)
  const { status } = spawnSync(process.execPath, [program, ...words.split(' ')], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) {
    process.stdout.write(`\nThat failed with exit code ${status}. The files are in ${folder}.\n`)
    process.exit(1)
  }
}

process.stdout.write(
  'Spillway trains linear classifiers on data that does not fit in memory: the exact optimum, with proof.\n',
)
step(
  `1. Data: ${SIZE} of text, like pages of the web, and a test set from the same source.`,
  `generate --like webspam pages.svm --size ${SIZE} --test pages.t.svm --test-rows 2000`,
)
step(
  `2. Training with ${MEMORY} of memory, Node included. The plan comes first. Text is read once, into a store, and training
   begins meanwhile. The gap between primal and dual, over all rows, is the certificate.`,
  `train pages.svm pages.model --memory ${MEMORY} --test pages.t.svm --record pages.jsonl`,
)
step(
  '3. The same run, taken on to a gap a hundred times as small, from its checkpoint. The text is not read again.',
  `train pages.svm pages.model --memory ${MEMORY} --tolerance 1e-5 --resume --test pages.t.svm --record pages.jsonl`,
)
step('4. Predicting, and what the model weighs most.', 'predict pages.t.svm pages.model labels.txt')
step('   ', 'inspect pages.model --top 3')
step('5. A page of charts from the records of both runs.', 'report pages.jsonl pages.html')
// It outlives the data.
const report = join(mkdtempSync(join(tmpdir(), 'spillway-report-')), 'pages.html')
copyFileSync(join(folder, 'pages.html'), report)
rmSync(folder, { recursive: true })
process.stdout.write(`
The report, to open in a browser: ${report}

What to try next:
  npx spillway train YOUR.svm --memory 1G --test YOUR.t.svm --report YOUR.html
  npx spillway train YOUR.svm --loss logistic --normalize unit
  npx spillway train -s 1 -c 4 -B 1 YOUR.svm          the options of LIBLINEAR
  npx spillway --help
`)
