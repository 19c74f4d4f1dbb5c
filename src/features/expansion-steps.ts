// The steps of an expansion together: what `--expand weighted-degree:8+hash:22` says.
import { UsageError } from '../errors.ts'
import { allExpansions } from './all-expansions.ts'
import type { ExpandedRow, ExpansionStep } from './expansion.ts'

export class ExpansionSteps {
  readonly steps: readonly ExpansionStep[]

  constructor(steps: ExpansionStep[]) {
    this.steps = steps
  }

  /** In full, as a user may write it. */
  get text(): string {
    return this.steps.map(step => step.text).join('+')
  }
  /** Whether it is for rows of letters. */
  get letters(): boolean {
    return this.steps[0].letters
  }
  get hashes(): boolean {
    return this.steps.some(step => step.hashes)
  }
  get constant(): boolean {
    return this.steps[this.steps.length - 1].constant
  }

  get proportional(): boolean {
    return this.steps.every(step => step.proportional)
  }

  /** How many features rows of so many features get in the end; refuses what numbers of 32 bits cannot count. */
  features(before: number): number {
    let features = before
    for (const [k, step] of this.steps.entries()) {
      features = step.features(features)
      if (features > 2 ** 32 - 2 && !this.steps[k + 1]?.hashes) throw step.tooManyFeatures()
    }
    return features
  }

  /** How many features there are before they are hashed, 2^32 and more included. */
  featuresBeforeHash(before: number): number {
    return this.steps.filter(step => !step.hashes).reduce((features, step) => step.features(features), before)
  }

  /** The most entries that a row of so many gets. */
  entries(before: number): number {
    return this.steps.reduce((entries, step) => step.entries(entries), before)
  }

  /** Bytes that an entry of a packed row takes at most. */
  entryBytes(valueBits: number): number {
    if (this.constant) return 4
    return this.steps.reduce((bytes, step) => step.valueBytes(bytes), valueBits / 8) === 8 ? 12 : 8
  }

  expandRow(row: ExpandedRow, round: (value: number) => number = value => value): ExpandedRow {
    return this.steps.reduce((expanded, step) => step.expandRow(expanded, round), row)
  }

  /** The name of a feature; `first` names the features that rows have before any step. */
  nameOf(feature: number, first: (feature: number) => string, steps = this.steps): string {
    if (steps.length === 0) return first(feature)
    const before = steps.slice(0, -1)
    return steps[steps.length - 1].nameOf(feature, earlier => this.nameOf(earlier, first, before))
  }

  /** Where a feature falls that is hashed. */
  placeOf(feature: number): number {
    return this.steps[this.steps.length - 1].placeOf?.(feature) ?? feature
  }

  /** The name of a feature as it was before it was hashed. */
  nameBeforeHash(feature: number, first: (feature: number) => string): string {
    const hash = this.steps.findIndex(step => step.hashes)
    return this.nameOf(feature, first, this.steps.slice(0, hash))
  }
}

const kept = new Map<string, ExpansionSteps>()

/** What a text such as `polynomial:2+hash:20` says; refuses what cannot be, with what can. */
export function parseExpansion(text: string): ExpansionSteps {
  let found = kept.get(text)
  if (!found) {
    found = new ExpansionSteps(text.split('+').map(parseStep))
    checkOrder(found)
    kept.set(text, found)
  }
  return found
}

/** Refuses to make features of letters where there are none. */
export function checkExpandable(text: string, format: { letters: boolean; title: string }): void {
  if (format.letters || !parseExpansion(text).letters) return
  throw new UsageError(
    `${text} makes features of letters, and the data is ${format.title}`,
    'strings come one a line, LABEL STRING (--format label-string); for features that are numbers there is --expand polynomial:2',
  )
}

/** What makes features of rows of letters, where nothing else does: as they are, their values are bytes. */
export function expansionFor(format: { letters: boolean }, expand: string | undefined): string | undefined {
  return format.letters && expand === undefined ? 'weighted-degree:8' : undefined
}

/** The same as a check of formats, for a reading that finds its format on the way. */
export function fitFor(expand: string | undefined): (format: { letters: boolean; title: string }) => void {
  return format => {
    if (expand !== undefined) checkExpandable(expand, format)
  }
}

function parseStep(said: string): ExpansionStep {
  const [name, ...words] = said.split(':')
  const expansion = allExpansions.find(entry => entry.name === name)
  if (expansion) return expansion.parse(words)
  const known = allExpansions.map(entry => `${entry.name}${entry.takes}`)
  throw new UsageError(
    `--expand has "${said}"; expected one of ${known.join(', ')}, or several of them with + between`,
    'e.g. --expand weighted-degree:8, or --expand polynomial:2+hash:22',
  )
}

function checkOrder({ steps }: ExpansionSteps): void {
  steps.forEach((step, k) => {
    if (step.letters && k > 0) {
      throw new UsageError(
        `--expand has ${step.text} after ${steps[k - 1].text}; it is made of letters, so it comes first`,
      )
    }
    if (step.hashes && k < steps.length - 1) {
      throw new UsageError(`--expand has ${steps[k + 1].text} after ${step.text}; hashing comes last`)
    }
  })
}
