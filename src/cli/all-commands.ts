// Every command with what it does, in the order of the overview. A command is loaded when it is asked for.
import type { Command } from './command.ts'

export interface CommandEntry {
  /** One line, for the overview and the command's own help. */
  summary: string
  load: () => Promise<Command>
}

export const allCommands: Record<string, CommandEntry> = {
  train: {
    summary: 'Train a linear classifier to the exact optimum, with a certificate.',
    load: () => import('./train.ts').then(m => m.trainCommand),
  },
  predict: {
    summary: 'Predict labels with a model, in the order of the input, in constant memory.',
    load: () => import('./predict.ts').then(m => m.predictCommand),
  },
  'cross-validate': {
    summary: 'Measure accuracy on rows that were not trained on, all folds in one read of the data.',
    load: () => import('./cross-validate.ts').then(m => m.crossValidateCommand),
  },
  tune: {
    summary: 'Find the cost with the best accuracy on rows that were not trained on, and train the model with it.',
    load: () => import('./tune.ts').then(m => m.tuneCommand),
  },
  ingest: {
    summary: 'Read text once into a compact block store, to train on again and again.',
    load: () => import('./ingest.ts').then(m => m.ingestCommand),
  },
  add: {
    summary: 'Add rows to a store; the next training goes on from the last one.',
    load: () => import('./add.ts').then(m => m.addCommand),
  },
  remove: {
    summary: 'Remove rows from a store; the next training goes on from the last one.',
    load: () => import('./remove.ts').then(m => m.removeCommand),
  },
  index: {
    summary: 'Build an index of a store, to train on the rows that matter: --solver indexed.',
    load: () => import('./index.ts').then(m => m.indexCommand),
  },
  inspect: {
    summary: 'Tell what is in a data file, a block store or a model.',
    load: () => import('./inspect.ts').then(m => m.inspectCommand),
  },
  convert: {
    summary: 'Write a model in another file format.',
    load: () => import('./convert.ts').then(m => m.convertCommand),
  },
  report: {
    summary: 'Make a page of charts from the records of a run.',
    load: () => import('./report.ts').then(m => m.reportCommand),
  },
  compare: {
    summary: 'Compare runs by their records: who comes closer to the optimum, and when.',
    load: () => import('./compare.ts').then(m => m.compareCommand),
  },
  serve: {
    summary: 'Answer requests over HTTP with the predictions of a model.',
    load: () => import('./serve.ts').then(m => m.serveCommand),
  },
  studio: {
    summary: 'Open a page on this machine to look at data, train, watch and compare runs.',
    load: () => import('./studio.ts').then(m => m.studioCommand),
  },
  generate: {
    summary: 'Make data with the statistics of a known set: rows, skew, class balance and noise, in LIBSVM text.',
    load: () => import('./generate.ts').then(m => m.generateCommand),
  },
}
