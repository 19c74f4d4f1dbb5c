// Which progress records are kept of a long run: so many for each doubling of its time that none is missed on a page, and a run
// of a week leaves some ten thousand lines.
import type { Progress } from '../train/progress.ts'

/** Seconds between two records, at least: this share of the time that has passed, and no less than a thousandth. */
const SHARE = 1 / 600
const LEAST_SECONDS = 0.001

export class Thinning {
  #last = Number.NEGATIVE_INFINITY
  #stage: Progress['stage'] | undefined
  #left: Progress | undefined

  /** The records to keep now: this one, or none. The first of a stage and certified ones are always kept. */
  take(progress: Progress): Progress[] {
    if (!('seconds' in progress)) return this.#keep(progress)
    const { seconds, stage } = progress
    const must = stage !== this.#stage || stage === 'relax' || stage === 'rows' || isCertified(progress)
    const due = seconds - this.#last >= Math.max(LEAST_SECONDS, SHARE * seconds)
    if (must || due || seconds < this.#last) return this.#keep(progress)
    this.#left = progress
    return []
  }

  /** The last record, if it was left out. */
  end(): Progress[] {
    return this.#left ? this.#keep(this.#left) : []
  }

  #keep(progress: Progress): Progress[] {
    this.#left = undefined
    if ('seconds' in progress) {
      this.#last = progress.seconds
      this.#stage = progress.stage
    }
    return [progress]
  }
}

function isCertified(progress: Progress): boolean {
  return progress.stage === 'train' && progress.certified
}
