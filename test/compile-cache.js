// Loaded before each test file (`npm test`): compiled code is kept between processes, and for their worker threads. Hundreds of
// them start, and each would strip the types of a hundred files.
import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), `spillway-test-compile-cache-${process.getuid?.() ?? 0}`)
enableCompileCache(process.env.NODE_COMPILE_CACHE)

// Tests wait for files as commands do. Loaded behind the line above, so that it is compiled once, too.
const { nudgeFileThreads } = await import('../src/files/nudge-threads.ts')
nudgeFileThreads()
