// Predictions over ranks: each predicts its share of the rows. Answers go to rank 0, in the order of the data, or into a file of
// each rank.
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { PredictOptions, PredictResult } from '../predict/predict.ts'
import type { Communicator } from '../ranks/communicator.ts'

/** Bytes of answers that go to rank 0 at a time. */
const PIECE = 1 << 20

type Write = (text: Uint8Array) => void | Promise<void>

/** Predicts the share of this rank. `options.write` takes its answers; where it `collects`, that of rank 0 takes those of all. */
export async function predictOverRanks(
  share: string[],
  model: Model,
  options: PredictOptions,
  collects: boolean,
  ranks: Communicator,
): Promise<PredictResult> {
  const { predict } = await import('../predict/predict.ts')
  if (!collects) return overAll(await predict(share, model, options), ranks)
  await using kept = ranks.rank > 0 ? await KeptAnswers.create() : undefined
  // A header is the first line of all.
  const own = kept ? { ...options, header: false, write: (text: Uint8Array) => kept.write(text) } : options
  const result = await predict(share, model, own)
  await collect(kept, options.write, ranks)
  return overAll(result, ranks)
}

/** Hands the answers of each rank to rank 0, one rank after the other. All ranks hear them: it is the one call that there is. */
async function collect(kept: KeptAnswers | undefined, write: Write | undefined, ranks: Communicator): Promise<void> {
  const lengths = new Float64Array(ranks.size)
  lengths[ranks.rank] = kept?.bytes ?? 0
  await ranks.sum(lengths)
  for (let root = 1; root < ranks.size; root++) {
    for (let at = 0; at < lengths[root]; at += PIECE) {
      const piece = new Uint8Array(Math.min(PIECE, lengths[root] - at))
      if (ranks.rank === root) await kept!.read(piece, at)
      await ranks.broadcast(piece, root)
      await write?.(piece)
    }
  }
}

/** The counts of all ranks together. */
export async function overAll(result: PredictResult, ranks: Communicator): Promise<PredictResult> {
  const { rows, weight, correct, badRows, bytesRead, seconds, badRowMessages } = result
  const weighted = weight === undefined ? 0 : 1
  const counts = Float64Array.of(rows, correct, badRows, bytesRead, weight ?? rows, weighted)
  await ranks.sum(counts)
  const longest = Float64Array.of(seconds)
  await ranks.max(longest)
  const messages = await ranks.gather(Buffer.from(JSON.stringify(badRowMessages)))
  return {
    ...{ rows: counts[0], correct: counts[1], badRows: counts[2], bytesRead: counts[3] },
    ...(counts[5] > 0 && { weight: counts[4] }),
    accuracy: counts[0] > 0 ? counts[1] / counts[4] : 0,
    badRowMessages: messages.flatMap(text => JSON.parse(Buffer.from(text).toString()) as string[]).slice(0, 5),
    seconds: longest[0],
  }
}

/** Answers that wait on disk until it is the turn of their rank. */
class KeptAnswers {
  bytes = 0
  readonly #folder: string
  readonly #file: FileHandle

  static async create(): Promise<KeptAnswers> {
    try {
      const folder = await mkdtemp(join(tmpdir(), 'spillway-answers-'))
      return new KeptAnswers(folder, await open(join(folder, 'answers'), 'wx+'))
    } catch (error) {
      throw fileError(error, tmpdir(), 'write')
    }
  }

  private constructor(folder: string, file: FileHandle) {
    this.#folder = folder
    this.#file = file
  }

  async write(text: Uint8Array): Promise<void> {
    for (let done = 0; done < text.length; ) {
      const writing = this.#file.write(text, done, text.length - done, this.bytes)
      const { bytesWritten } = await writing.catch(error => {
        throw fileError(error, this.#folder, 'write')
      })
      done += bytesWritten
      this.bytes += bytesWritten
    }
  }

  async read(target: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < target.length; ) {
      const { bytesRead } = await this.#file.read(target, done, target.length - done, at + done)
      if (bytesRead === 0) throw new Error('answers that were kept are gone')
      done += bytesRead
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
    await rm(this.#folder, { recursive: true, force: true })
  }
}
