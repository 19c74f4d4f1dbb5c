#!/usr/bin/env node
// Starts the command line: from dist/ when it is there and no source is newer (a published package, or a fresh build),
// else straight from the TypeScript sources.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(`spillway needs Node 24 or newer; this is ${process.version}.`)
  console.error('In a clone of the project, `npx spillway …` uses the right one.')
  process.exit(1)
}

// An import statement would also load the lazy parts of these modules, which takes longer than the rest of this file.
const { readdirSync, statSync } = process.getBuiltinModule('node:fs')
// Compiled code is kept in Node's own folder for it, beside other temporary files. Where that cannot be written, nothing is.
process.getBuiltinModule('node:module').enableCompileCache()

const root = `${import.meta.dirname}/../`
const changed = path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Whether a file among the sources of a folder changed after that time. A published package has no sources. */
function isNewer(folder, time) {
  let entries
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch {
    return false
  }
  return entries.some(entry => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name !== 'assembly' && isNewer(path, time)
    return /\.(ts|wasm)$/.test(path) && changed(path) > time
  })
}

const built = Math.min(changed(`${root}dist/main.js`), changed(`${root}dist/numeric.wasm`))
const { main } = await import(built > 0 && !isNewer(`${root}src`, built) ? '../dist/main.js' : '../src/cli/main.ts')
process.exitCode = await main(process.argv.slice(2))
