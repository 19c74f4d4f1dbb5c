// Vowpal Wabbit, which learns row by row: the text goes into a cache, and passes after the first read that.
//
//   vw -d DATA.vw -k --cache_file F --passes N --loss_function hinge|logistic --l2 1/(C rows) -b BITS --noconstant …
//
// Its regulariser counts in every row's step, so that with 1/(C rows) it aims at the same problem. Features that are numbers
// keep them as places of the weights when there is room for all.
import { writeSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { LinearModel } from '../liblinear-model.ts'
import { forEachLine } from '../libsvm-text.ts'
import { measure } from '../measure.ts'
import { writeWhole } from '../prepare.ts'
import { demandProgram, type GivenPeer } from './given.ts'

const FLUSH_CHARACTERS = 1 << 20

export function makeVw(path: string): GivenPeer {
  demandProgram(path, 'the program vw of Vowpal Wabbit')
  return {
    name: 'vw',
    losses: ['hinge', 'logistic'],
    async prepare(data, folder) {
      const file = join(folder, `${basename(data)}.vw`)
      await writeWhole(file, temporary => asVwText(data, temporary))
      return file
    },
    async train(data, { loss, cost, passes, rows, features, folder }, options) {
      const [cache, model] = [join(folder, 'vw.cache'), join(folder, 'vw.model')]
      const bits = Math.max(1, Math.ceil(Math.log2(features + 1)))
      try {
        const run = await measure(
          [
            ...[path, '-d', data, '-k', '--cache_file', cache, '--passes', String(passes), '--loss_function', loss],
            ...['--l2', String(1 / (cost * rows)), '-b', String(bits), '--noconstant', '--readable_model', model],
            // Without this, passes end when rows that are held out get worse.
            ...['--holdout_off', '--quiet'],
          ],
          options,
        )
        return { steps: [{ what: `${passes} passes`, run }], model: await readableModel(model, features) }
      } finally {
        for (const made of [cache, model]) await rm(made, { force: true })
      }
    },
  }
}

/** `+1 3:0.5` becomes `1 | 3:0.5`. */
async function asVwText(from: string, to: string): Promise<void> {
  const handle = await open(to, 'w')
  let text = ''
  const flush = (): void => {
    writeSync(handle.fd, text, null, 'latin1')
    text = ''
  }
  try {
    await forEachLine(from, (bytes, start, end) => {
      const line = bytes.toString('latin1', start, end)
      const space = line.indexOf(' ')
      const label = Number(space < 0 ? line : line.slice(0, space))
      text += `${label} |${space < 0 ? '' : line.slice(space)}\n`
      if (text.length >= FLUSH_CHARACTERS) flush()
    })
    flush()
  } finally {
    await handle.close()
  }
}

/** Lines `place:weight`, after a head whose lines are others. */
export async function readableModel(file: string, features: number): Promise<LinearModel> {
  const weights = new Float64Array(features)
  await forEachLine(file, (bytes, start, end) => {
    const [, place, weight] = /^(\d+):(\S+)/.exec(bytes.toString('latin1', start, end)) ?? []
    if (place !== undefined && Number(place) >= 1 && Number(place) <= features)
      weights[Number(place) - 1] = Number(weight)
  })
  return { labels: [1, -1], features, bias: 0, count: 1, weights }
}
