// Every task a worker can run, by name. Each is loaded when it is first asked for.

export const allTasks = {
  'generate-chunk': () => import('../generate/generate-chunk-task.ts').then(m => m.generateChunkTask),
  'decode-rows': () => import('../training/decode-rows-task.ts').then(m => m.decodeRowsTask),
  'encode-chunk': () => import('../block-store/encode-chunk-task.ts').then(m => m.encodeChunkTask),
  'load-block': () => import('../training/load-block-task.ts').then(m => m.loadBlockTask),
  'block-sweeps': () => import('../solvers/block-sweeps-task.ts').then(m => m.blockSweepsTask),
  pegasos: () => import('../solvers/pegasos-task.ts').then(m => m.pegasosTask),
  'one-pass': () => import('../solvers/one-pass-task.ts').then(m => m.onePassTask),
  'add-dual': () => import('../training/add-dual-task.ts').then(m => m.addDualTask),
  'parted-sweeps': () => import('../solvers/parted-sweeps-task.ts').then(m => m.partedSweepsTask),
  'renumber-entries': () => import('../solvers/parted-sweeps-task.ts').then(m => m.renumberEntriesTask),
  'bundle-sweeps': () => import('../solvers/bundle-sweeps-task.ts').then(m => m.bundleSweepsTask),
  'bundle-rows': () => import('../solvers/bundle-sweeps-task.ts').then(m => m.bundleRowsTask),
  'block-bundles': () => import('../solvers/block-bundles-task.ts').then(m => m.blockBundlesTask),
  'dual-sweeps': () => import('../solvers/dual-sweeps-task.ts').then(m => m.dualSweepsTask),
  'enter-features': () => import('../training/renumber-task.ts').then(m => m.enterFeaturesTask),
  'renumber-rows': () => import('../training/renumber-task.ts').then(m => m.renumberRowsTask),
  'evaluate-rows': () => import('../training/evaluate-rows-task.ts').then(m => m.evaluateRowsTask),
  'evaluate-together': () => import('../training/evaluate-together-task.ts').then(m => m.evaluateTogetherTask),
  'add-dual-together': () => import('../training/evaluate-together-task.ts').then(m => m.addDualTogetherTask),
  'look-along': () => import('../training/look-along-task.ts').then(m => m.lookAlongTask),
  'evaluate-l1': () => import('../training/evaluate-l1-task.ts').then(m => m.evaluateL1Task),
  'primal-coordinate': () => import('../solvers/primal-coordinate-task.ts').then(m => m.primalCoordinateTask),
  'predict-chunk': () => import('../model/predict-chunk-task.ts').then(m => m.predictChunkTask),
  'selective-visit': () => import('../solvers/selective-task.ts').then(m => m.selectiveVisitTask),
  'stream-visit': () => import('../solvers/stream-task.ts').then(m => m.streamVisitTask),
  'first-visit': () => import('../solvers/stream-task.ts').then(m => m.firstVisitTask),
  'stream-evaluate': () => import('../solvers/stream-task.ts').then(m => m.streamEvaluateTask),
  'survey-block': () => import('../training/survey-block-task.ts').then(m => m.surveyBlockTask),
  'scan-chunk': () => import('../training/scan-chunk-task.ts').then(m => m.scanChunkTask),
  'parse-rows': () => import('../training/parse-rows-task.ts').then(m => m.parseRowsTask),
}

export type TaskName = keyof typeof allTasks
type TaskOf<N extends TaskName> = Awaited<ReturnType<(typeof allTasks)[N]>>
export type TaskOptions<N extends TaskName> = Parameters<TaskOf<N>>[1]
export type TaskResult<N extends TaskName> = Awaited<ReturnType<TaskOf<N>>>
