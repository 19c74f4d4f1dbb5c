// Loaded before each test file (`npm test`): compiled code is kept between processes, and for their worker threads. Hundreds of
// them start, and each would strip the types of a hundred files.
import { stat } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), `spillway-test-compile-cache-${process.getuid?.() ?? 0}`)
enableCompileCache(process.env.NODE_COMPILE_CACHE)

// As src/files/nudge-threads.ts does for the command line: what a lost signal leaves waiting goes on.
setInterval(() => stat('.', () => {}), 1000).unref()
