// Every task a worker can run, by name. Each is loaded when it is first asked for.

export const allTasks = {
  'generate-chunk': () => import('../generate/generate-chunk-task.ts').then(m => m.generateChunkTask),
  'decode-rows': () => import('../block-store/decode-rows-task.ts').then(m => m.decodeRowsTask),
  'encode-chunk': () => import('../block-store/encode-chunk-task.ts').then(m => m.encodeChunkTask),
  'load-block': () => import('../block-store/load-block-task.ts').then(m => m.loadBlockTask),
  'block-sweeps': () => import('../optimise/solvers/block-sweeps-task.ts').then(m => m.blockSweepsTask),
  pegasos: () => import('../optimise/solvers/pegasos-task.ts').then(m => m.pegasosTask),
  'one-pass': () => import('../optimise/solvers/one-pass-task.ts').then(m => m.onePassTask),
  'add-dual': () => import('../optimise/objectives/add-dual-task.ts').then(m => m.addDualTask),
  'parted-sweeps': () => import('../optimise/solvers/parted-sweeps-task.ts').then(m => m.partedSweepsTask),
  'renumber-entries': () => import('../optimise/solvers/parted-sweeps-task.ts').then(m => m.renumberEntriesTask),
  'bundle-sweeps': () => import('../optimise/solvers/bundle-sweeps-task.ts').then(m => m.bundleSweepsTask),
  'bundle-rows': () => import('../optimise/solvers/bundle-sweeps-task.ts').then(m => m.bundleRowsTask),
  'block-bundles': () => import('../optimise/solvers/block-bundles-task.ts').then(m => m.blockBundlesTask),
  'dual-sweeps': () => import('../optimise/solvers/dual-sweeps-task.ts').then(m => m.dualSweepsTask),
  'enter-features': () => import('../rows/renumber-task.ts').then(m => m.enterFeaturesTask),
  'renumber-rows': () => import('../rows/renumber-task.ts').then(m => m.renumberRowsTask),
  'evaluate-rows': () => import('../optimise/objectives/evaluate-rows-task.ts').then(m => m.evaluateRowsTask),
  'evaluate-together': () => import('../optimise/objectives/evaluate-together-task.ts').then(m => m.evaluateTogetherTask),
  'add-dual-together': () => import('../optimise/objectives/evaluate-together-task.ts').then(m => m.addDualTogetherTask),
  'look-along': () => import('../optimise/objectives/look-along-task.ts').then(m => m.lookAlongTask),
  'evaluate-l1': () => import('../optimise/objectives/evaluate-l1-task.ts').then(m => m.evaluateL1Task),
  'primal-coordinate': () => import('../optimise/solvers/primal-coordinate-task.ts').then(m => m.primalCoordinateTask),
  'predict-chunk': () => import('../predict/predict-chunk-task.ts').then(m => m.predictChunkTask),
  'selective-visit': () => import('../optimise/solvers/selective-task.ts').then(m => m.selectiveVisitTask),
  'stream-visit': () => import('../optimise/solvers/stream-task.ts').then(m => m.streamVisitTask),
  'first-visit': () => import('../optimise/solvers/stream-task.ts').then(m => m.firstVisitTask),
  'stream-evaluate': () => import('../optimise/solvers/stream-task.ts').then(m => m.streamEvaluateTask),
  'survey-block': () => import('../block-store/survey-block-task.ts').then(m => m.surveyBlockTask),
  'scan-chunk': () => import('../rows/scan-chunk-task.ts').then(m => m.scanChunkTask),
  'parse-rows': () => import('../rows/parse-rows-task.ts').then(m => m.parseRowsTask),
}

export type TaskName = keyof typeof allTasks
type TaskOf<N extends TaskName> = Awaited<ReturnType<(typeof allTasks)[N]>>
export type TaskOptions<N extends TaskName> = Parameters<TaskOf<N>>[1]
export type TaskResult<N extends TaskName> = Awaited<ReturnType<TaskOf<N>>>
