// Compiles src/ to dist/ (JavaScript and type declarations) and puts the compiled numeric module beside it.
import { spawnSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(`${root}dist`, { recursive: true, force: true })
const tsc = fileURLToPath(import.meta.resolve('typescript/package.json')).replace(/package\.json$/, 'bin/tsc')
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (status === 0) copyFileSync(`${root}src/numeric/numeric.wasm`, `${root}dist/numeric/numeric.wasm`)
// Half a build would be run in place of the sources.
else rmSync(`${root}dist`, { recursive: true, force: true })
process.exitCode = status ?? 1
