// The view before anything is chosen: what can be done here, and how to begin.
import { fill, h } from './dom.ts'
import { formatBytes, formatCount } from './format.ts'
import type { Place } from './studio.ts'

export function homeView({ studio, element }: Place): string {
  const { files, machine } = studio.folder
  const count = files.filter(({ kind }) => kind !== 'model').length
  const step = (title: string, text: string) => h('li', {}, h('strong', {}, title), h('span', {}, text))
  fill(
    element,
    h('h1', {}, 'Choose a file to begin'),
    h(
      'p',
      { class: 'lead' },
      count === 0
        ? 'This folder has no data yet. Put a file there (LIBSVM, CSV, Parquet…) and reload the page.'
        : `${formatCount(count)} ${count === 1 ? 'file' : 'files'} of data in this folder. ` +
            `This machine has ${formatBytes(machine.usableBytes ?? machine.memoryBytes)} of memory and ${machine.cores} ` +
            `${machine.cores === 1 ? 'core' : 'cores'}.`,
    ),
    h(
      'ol',
      { class: 'steps' },
      step('Choose a file.', 'You see its rows, features and labels.'),
      step('Plan.', 'Move the memory slider: the plan shows what stays in memory and how long a run may take.'),
      step('Train and watch.', 'A run goes on when you close this page. You can stop and resume it.'),
      step('Look at the result.', 'Compare runs, click through the confusion matrix, and ask why a row got its label.'),
    ),
  )
  return 'Home'
}
