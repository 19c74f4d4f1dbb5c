// LIBLINEAR's command lines, as people have them in their fingers and in their scripts, in the words of these commands.
import { UsageError } from '../errors.ts'

/** LIBLINEAR's -s numbers that name a problem we solve. */
const LIBLINEAR_LOSSES: Record<string, string> = {
  0: 'logistic',
  1: 'squared-hinge',
  2: 'squared-hinge',
  3: 'hinge',
  4: 'hinge',
  5: 'squared-hinge',
  6: 'logistic',
  7: 'logistic',
}
/** Those of them that regularise by ‖w‖₁. */
const LIBLINEAR_L1 = new Set(['5', '6'])

/** `-s 3` and `-w1 5` as LIBLINEAR reads them. */
export function fromLiblinear(words: string[]): string[] {
  const result: string[] = []
  for (let k = 0; k < words.length; k++) {
    const word = words[k]
    const next = (): string => {
      const value = words[++k]
      if (value === undefined) throw new UsageError(`${word} needs a value`)
      return value
    }
    if (word === '-s') {
      const number = next()
      if (!Object.hasOwn(LIBLINEAR_LOSSES, number)) {
        const known = Object.entries(LIBLINEAR_LOSSES).map(
          ([s, name]) => `${s} (${LIBLINEAR_L1.has(s) ? 'l1, ' : ''}${name})`,
        )
        throw new UsageError(
          `-s ${number} is a LIBLINEAR solver that there is nothing for here; expected ${known.join(', ')}`,
        )
      }
      result.push('--loss', LIBLINEAR_LOSSES[number])
      if (number === '4') result.push('--multiclass', 'crammer-singer')
      if (LIBLINEAR_L1.has(number)) result.push('--regularizer', 'l1')
    } else if (/^-w[^a-z]/.test(word)) result.push('--class-weight', `${word.slice(2)}=${next()}`)
    else result.push(word)
  }
  return result
}

/** The same for `train`, of which LIBLINEAR's has two jobs more: each is a command here. */
export function trainWords(words: string[]): string[] {
  const others = (...dropped: string[]): string => words.filter(word => !dropped.includes(word)).join(' ')
  const folds = words.indexOf('-v')
  if (folds >= 0) {
    throw new UsageError(
      '-v trains on folds, which is a command of its own here',
      `type: spillway cross-validate ${others('-q')}`,
    )
  }
  if (words.includes('-C')) {
    throw new UsageError(
      '-C looks for the best cost, which is a command of its own here',
      `type: spillway tune ${others('-C', '-q')}`,
    )
  }
  return fromLiblinear(words)
}

/** `-b 1` of `predict`. */
export function predictWords(words: string[]): string[] {
  const at = words.indexOf('-b')
  if (at < 0) return words
  const value = words[at + 1]
  if (value !== '0' && value !== '1') throw new UsageError(`-b is "${value ?? ''}"; expected 0 or 1`)
  return [...words.slice(0, at), ...(value === '1' ? ['--probability'] : []), ...words.slice(at + 2)]
}
