// Every command, one line each, in the order of the overview. A command is loaded when it is asked for.
import type { Command } from './command.ts'

export const allCommands: Record<string, () => Promise<Command>> = {
  train: () => import('./train.ts').then(m => m.trainCommand),
  predict: () => import('./predict.ts').then(m => m.predictCommand),
  'cross-validate': () => import('./cross-validate.ts').then(m => m.crossValidateCommand),
  tune: () => import('./tune.ts').then(m => m.tuneCommand),
  ingest: () => import('./ingest.ts').then(m => m.ingestCommand),
  add: () => import('./add.ts').then(m => m.addCommand),
  remove: () => import('./remove.ts').then(m => m.removeCommand),
  inspect: () => import('./inspect.ts').then(m => m.inspectCommand),
  convert: () => import('./convert.ts').then(m => m.convertCommand),
  generate: () => import('./generate.ts').then(m => m.generateCommand),
}
