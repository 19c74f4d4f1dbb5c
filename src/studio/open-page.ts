// Opens the page in the user's browser. Other users of the machine can see the words of a command, so that the address with its token
// stands in a file that only the owner may read, which leads to it.
import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createKept, WORK_FOLDER } from './folder.ts'

const OPENERS: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Gives what removes the file. A machine without a browser has the address on its terminal. */
export async function openPage(folder: string, url: string): Promise<() => Promise<void>> {
  const path = join(folder, WORK_FOLDER, 'open.html')
  await rm(path, { force: true })
  const file = await createKept(path)
  await file.writeFile(
    `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}"><title>Spillway studio</title><a href="${url}">Spillway studio</a>\n`,
  )
  await file.close()
  const [command, ...words] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...words, pathToFileURL(path).href], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
  return () => rm(path, { force: true })
}
