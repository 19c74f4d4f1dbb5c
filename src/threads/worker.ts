// Where a worker thread begins. Node keeps compiled code for the main thread alone: a worker turns that on for itself, before
// anything large is loaded.
import { dirname } from 'node:path'
import { workerData } from 'node:worker_threads'
import type { WorkerStart } from './pool.ts'

const { compileCache } = workerData as WorkerStart
// Node adds a folder of its own, named after its version.
if (compileCache) process.getBuiltinModule('node:module').enableCompileCache(dirname(compileCache))

// Beside this file: run-tasks.ts among the sources, run-tasks.js in dist/, where it is not to become a part of this one.
await import(new URL(import.meta.url.replace(/worker\.(ts|js)$/, 'run-tasks.$1')).href)
