// Builds dist/, or the folder that is named: a bundle each for the command line, the library, worker threads, browsers and pages,
// the type declarations, and the numeric module beside them. Few large files start faster than many small ones.
import { spawnSync } from 'node:child_process'
import { copyFileSync, globSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { pageBundle } from '../src/report/page-bundle.ts'
import { STUDIO_HTML, studioBundle } from '../src/studio/page-bundle.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = resolve(process.argv[2] ?? join(root, 'dist'))

/** Node's own modules, each loaded when the first module that uses it starts. An import statement would load them all
 *  at once, and every lazy part of them. */
const nodeModules = {
  name: 'node-modules',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'node' }))
    onLoad({ filter: /^/, namespace: 'node' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`,
    }))
  },
}

const settings = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  outdir: out,
  // Names stay: they are what a stack trace is read by.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [nodeModules],
  // Loaded by those who need them: under mpirun, for queries, for files of some formats, and for reports where the page is not built.
  external: [
    ...['koffi', '@duckdb/node-api', '@uwdata/flechette', 'hyparquet', 'hyparquet-compressors', 'xz-decompress'],
    'esbuild',
  ],
}

async function bundle() {
  await build({ ...settings, entryPoints: ['src/cli/main.ts'] })
  await build({ ...settings, entryPoints: ['src/index.ts'] })
  await build({ ...settings, entryPoints: ['src/input-formats/query-process.ts'] })
  // The beginning of a worker is small: it has Node keep the compiled code of what it loads then.
  await build({ ...settings, entryPoints: ['src/threads/worker.ts'] })
  // A worker finds its tasks by name, so that its bundle holds every file that declares one.
  const tasks = globSync('src/**/*-task.ts', { cwd: root }).sort()
  const files = [...tasks, 'src/threads/run-tasks.ts']
  const contents = files.map(file => `import './${file}'`).join('\n')
  await build({
    ...settings,
    stdin: { contents, resolveDir: root },
    outdir: undefined,
    outfile: join(out, 'run-tasks.js'),
  })
  // For browsers: small, and with nothing of Node's. An import of it would end the build.
  await build({
    ...settings,
    entryPoints: ['src/model/from-bytes.ts'],
    outdir: undefined,
    outfile: join(out, 'predict.js'),
    platform: 'neutral',
    target: 'es2024',
    minify: true,
    plugins: [],
  })
  // The page of reports, which is put into each of them.
  await build({ ...pageBundle, absWorkingDir: root, outdir: out })
  // The studio's page.
  await build({ ...studioBundle, absWorkingDir: root, outdir: out })
  copyFileSync(join(root, STUDIO_HTML), join(out, 'studio.html'))
}

/** Writes the declarations that those of the library and of `spillway/predict` lead to. */
function declareTypes() {
  const tsc = fileURLToPath(import.meta.resolve('typescript/package.json')).replace(/package\.json$/, 'bin/tsc')
  const words = [tsc, '-p', 'tsconfig.build.json', '--outDir', out]
  const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the types could not be built')
  const needed = new Set()
  const need = file => {
    if (needed.has(file)) return
    needed.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, path] of text.matchAll(/(?:from|import\() ?['"](\.[^'"]*)\.[jt]s['"]/g)) {
      need(join(dirname(file), `${path}.d.ts`))
    }
  }
  need(join(out, 'index.d.ts'))
  need(join(out, 'model/from-bytes.d.ts'))
  const entries = readdirSync(out, { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (path.endsWith('.d.ts') && !needed.has(path)) rmSync(path)
  }
  const folders = entries.filter(entry => entry.isDirectory()).map(entry => join(entry.parentPath, entry.name))
  for (const folder of folders.sort().reverse()) if (readdirSync(folder).length === 0) rmdirSync(folder)
}

rmSync(out, { recursive: true, force: true })
try {
  declareTypes()
  await bundle()
  copyFileSync(join(root, 'src/numeric/numeric.wasm'), join(out, 'numeric.wasm'))
} catch (error) {
  // Half a build would be run in place of the sources.
  rmSync(out, { recursive: true, force: true })
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
