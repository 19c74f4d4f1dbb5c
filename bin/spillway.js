#!/usr/bin/env node
// Starts the command line: from dist/ when it is there and no source is newer (a published package, or a fresh build),
// else straight from the TypeScript sources.
import { readdirSync, statSync } from 'node:fs'
import v8 from 'node:v8'

const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(`spillway needs Node 24 or newer; this is ${process.version}.`)
  console.error('In a clone of the project, `npx spillway …` uses the right one.')
  process.exit(1)
}

// The numeric module is small and every loop in it runs long: it is optimised at once, not after a slow first round.
v8.setFlagsFromString('--no-liftoff')

const root = new URL('../', import.meta.url)
const changed = path => statSync(new URL(path, root), { throwIfNoEntry: false })?.mtimeMs ?? 0
const newestSource = () => {
  let newest = 0
  try {
    for (const name of readdirSync(new URL('src', root), { recursive: true })) {
      if (name.endsWith('.ts') && !name.includes('assembly')) newest = Math.max(newest, changed(`src/${name}`))
    }
  } catch {
    // A published package has no sources.
  }
  return newest
}
const built = changed('dist/cli/main.js')
const rebuilt = changed('src/numeric/numeric.wasm')
const { main } = await import(
  built > 0 && built >= newestSource() && changed('dist/numeric/numeric.wasm') >= rebuilt
    ? '../dist/cli/main.js'
    : '../src/cli/main.ts'
)
process.exitCode = await main(process.argv.slice(2))
