// Standard output and standard error, written so that no byte is lost in silence. Node's own stream to a file takes a write
// that the disk took half of for a whole one; here the rest is written too, and a full disk is an error.
import { fstatSync, write } from 'node:fs'
import { fileError } from '../errors.ts'

const NAMES = { stdout: 'standard output', stderr: 'standard error' }
type Stream = keyof typeof NAMES

/** Resolves once the bytes are with the system and may be overwritten. A closed pipe rejects with `ReaderLeft`. */
export async function writeStandard(stream: Stream, bytes: string | Uint8Array): Promise<void> {
  // A copy of text in shared memory, because pipes hold on to what they are given.
  const buffer = Buffer.from(bytes as Uint8Array)
  try {
    if (isFile(stream)) {
      const { fd } = process[stream]
      for (let done = 0; done < buffer.length; ) done += await writeSome(fd, buffer.subarray(done))
    } else await writePiece(stream, buffer)
  } catch (error) {
    throw fileError(error, NAMES[stream], 'write')
  }
}

/** The writes report failures one by one. Without a listener the same failure would end the process with a stack trace. */
export function hearStandardErrors(): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    if (process[stream].listenerCount('error') === 0) process[stream].on('error', () => {})
  }
}

function writePiece(stream: Stream, buffer: Buffer): Promise<void> {
  hearStandardErrors()
  return new Promise((resolve, reject) => process[stream].write(buffer, error => (error ? reject(error) : resolve())))
}

function writeSome(fd: number, buffer: Buffer): Promise<number> {
  return new Promise((resolve, reject) =>
    write(fd, buffer, 0, buffer.length, null, (error, written) => (error ? reject(error) : resolve(written))),
  )
}

/** A file, or a device such as /dev/null; not a pipe, a socket or a terminal, which Node writes whole. */
function isFile(stream: Stream): boolean {
  const { fd, isTTY } = process[stream]
  const found = fstatSync(fd)
  return found.isFile() || (found.isCharacterDevice() && !isTTY)
}
