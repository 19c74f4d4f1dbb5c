// The first kilobytes of a file, to tell what it is.
import { open } from 'node:fs/promises'

/** The first few kilobytes of a file: enough to tell what it is. */
export async function fileHead(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const head = new Uint8Array(4096)
    const { bytesRead } = await file.read(head, 0, head.length, 0)
    return head.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
