// Compiles src/numeric/assembly/index.ts to src/numeric/numeric.wasm, only when a source is newer than the result.
import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = `${root}src/numeric/assembly`
const output = `${root}src/numeric/numeric.wasm`
const changed = file => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
const sources = [fileURLToPath(import.meta.url)]
// Layouts are compiled by both compilers.
const layouts = readdirSync(`${root}src/numeric`).filter(name => /layouts?\.ts$/.test(name))
for (const name of layouts) sources.push(`${root}src/numeric/${name}`)
for (const name of readdirSync(folder)) sources.push(`${folder}/${name}`)

if (Math.max(...sources.map(changed)) > changed(output)) {
  const { error, stderr } = await asc.main([
    'src/numeric/assembly/index.ts',
    ...['--baseDir', root, '--outFile', 'src/numeric/numeric.wasm'],
    ...['-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort='],
    ...['--importMemory', '--sharedMemory', '--initialMemory', '2', '--maximumMemory', '65536', '--memoryBase', '1024'],
    ...['--enable', 'simd', '--enable', 'threads', '--enable', 'bulk-memory'],
  ])
  process.stderr.write(stderr.toString())
  if (error) process.exitCode = 1
}
