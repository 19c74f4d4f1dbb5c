// How a training run ended: for people, and as the one line of JSON.

import { errorOf, type RowSpace } from '../additive-kernels/row-space.ts'
import { spaceOf } from '../features/additive-kernel.ts'
import { findLoss } from '../losses/all-losses.ts'
import { isSparse } from '../losses/formulations.ts'
import { shortfallJson, shortfallLines } from '../model/shortfall.ts'
import { countNonzeros } from '../model/weights.ts'
import type { IndexCounts } from '../optimise/sources/row-source.ts'
import type { PredictResult } from '../predict/predict.ts'
import type { ResultFields } from '../report/records.ts'
import { schemaLines } from '../tables/describe-schema.ts'
import type { TrainResult } from '../train/training-run.ts'
import { evaluationLines } from './evaluation-report.ts'
import {
  formatBytes,
  formatCount,
  formatGap,
  formatObjective,
  formatSeconds,
  formatShare,
  sourceName,
} from './format.ts'
import { keptLines, type SavedModel } from './save-trained.ts'

/** The line that --json prints: the fields of the result less the model itself. */
export function trainJson(result: TrainResult, saved: SavedModel, test: PredictResult | undefined): ResultFields {
  const { model: _, badRowMessages, trainingAccuracy, badRows, blocks, ...rest } = result
  const shortfall = shortfallJson(result.model)
  return {
    command: 'train',
    ...rest,
    badRows,
    ...saved,
    ...(shortfall && { shortfall }),
    ...(blocks && { blocks }),
    ...(test && { test: testJson(test) }),
  }
}

/** How a model did on data that it was tested on. */
export function testJson({ accuracy, weight, unlabelled, evaluation }: PredictResult): object {
  return {
    accuracy,
    ...(unlabelled && { unlabelled }),
    ...(weight !== undefined && { weight }),
    ...(evaluation && { evaluation }),
  }
}

export function trainSummary(
  result: TrainResult,
  data: string[],
  saved: SavedModel,
  tolerance: number,
  test: PredictResult | undefined,
): string {
  const { rows, features, nonzeros, classes, passes, seconds, blocks } = result
  const sparse = isSparse(result.model.regularizer)
  const name = data.length > 1 ? `${data.length} files` : sourceName(data[0])
  const lines = [
    `${name}: ${formatCount(rows)} rows, ${formatCount(features)} features${result.model.indexBase === 0 ? ' counted from 0' : ''}, ${formatCount(nonzeros)} nonzeros, ${classes} classes`,
    `${result.solver} solver, ${result.loss} loss${result.outlierMargin === undefined ? '' : `, s = ${result.outlierMargin}`}${sparse ? `, ${result.model.regularizer} regularizer` : ''}, C = ${result.cost}: ${formatCount(passes)} ${passes === 1 ? 'pass' : 'passes'} in ${formatSeconds(seconds.compute)}, after ${formatSeconds(seconds.read)} of reading${startText(result)}`,
    certificateLine(result, tolerance),
    ...shortfallLines(result.model).map(line => `  ${line}`),
  ]
  const space = spaceOf(result.model.transforms.expand?.steps)
  if (space) {
    lines.push(`${kernelText(space)}; primal and dual are those of the ${space.approximation}`)
  }
  if (result.roundedToBins !== undefined) {
    lines.push(`the store has its values rounded to ${formatCount(result.roundedToBins)} bins: those were trained on`)
  }
  if (result.model.schema) lines.push('columns of the table:', ...schemaLines(result.model.schema))
  const facts: string[] = []
  // Every row supports a model of a loss that is never zero: their number says nothing.
  if (result.supportVectors !== null && !findLoss(result.loss).entropicDual)
    facts.push(`${formatCount(result.supportVectors)} support vectors`)
  if (result.outliers !== undefined) facts.push(`${formatCount(result.outliers)} outliers`)
  if (result.supportVectors === null && sparse) {
    const { weights, vectors } = result.model
    const nonzero = countNonzeros(weights.values)
    facts.push(`${formatCount(nonzero)} of ${formatCount(features * vectors)} weights are not zero`)
  }
  if (result.trainingAccuracy !== null && (facts.length > 0 || result.supportVectors !== null))
    facts.push(`${formatShare(result.trainingAccuracy)} of the training rows on the right side`)
  if (facts.length > 0) lines.push(facts.join(', '))
  if (blocks) {
    lines.push(
      `store: ${blocks.store}, ${formatCount(blocks.count)} block${blocks.count === 1 ? '' : 's'}, ${formatBytes(result.bytesRead)} read in all ` +
        `(disk ${formatSeconds(blocks.readSeconds)}, decoding ${formatSeconds(blocks.decodeSeconds)}, ` +
        `waited ${formatSeconds(blocks.waitSeconds)})`,
    )
    if (blocks.index) lines.push(...indexLines(blocks.index, rows))
    if (blocks.bytesSkipped > 0) {
      lines.push(`${formatBytes(blocks.bytesSkipped)} were left unread: their rows cannot change anything`)
    }
  }
  const [accuracy, ...evaluation] = test ? testLines(test) : []
  if (accuracy) lines.push(accuracy)
  lines.push(`model: ${saved.model}`, ...keptLines(saved), ...evaluation)
  return lines.join('\n')
}

/** What the index was asked, and who went on without it. */
function indexLines({ rowsTouched, pagesRead, bytesRead, leftFor }: IndexCounts, rows: number): string[] {
  const asked =
    `index: ${formatCount(rowsTouched)} rows were looked at, ${formatShare(rowsTouched / rows)} of all; ` +
    `${formatCount(pagesRead)} pages read, ${formatBytes(bytesRead)}`
  if (!leftFor) return [asked]
  return [asked, `searches looked at most rows: from there on all rows were trained on, as by --solver ${leftFor}`]
}

/** The same for people: the accuracy, and behind it what --evaluate asks for. */
export function testLines({ accuracy, rows, weight, unlabelled, evaluation }: PredictResult): string[] {
  if (unlabelled) return [`no test accuracy: the ${formatCount(rows)} rows have no labels`]
  const by = weight === undefined ? '' : ', by their weights'
  return [
    `test accuracy ${formatShare(accuracy)} on ${formatCount(rows)} rows${by}`,
    ...(evaluation ? ['', ...evaluationLines(evaluation)] : []),
  ]
}

function startText({ start, resumedAtPass }: TrainResult): string {
  return { cold: '', warm: ', started from the last training', resumed: `, resumed at pass ${resumedAtPass}` }[start]
}

/** A kernel in words. */
export function kernelText(space: RowSpace): string {
  const { kernel, approximation, degree, nodes, bins } = space
  const at = nodes === 'chebyshev' ? '' : `, ${nodes} nodes`
  return `${kernel} kernel, by its ${approximation} of degree ${degree}${at}, off by ${formatShare(errorOf(space))} of κ(1, 1) at most, ${formatCount(bins)} bins`
}

/** A problem that is not convex has no dual: what is certain is that its last convex problem is solved. */
function truncatedLine({ primal, gap, relaxations, exitReason }: TrainResult, tolerance: number): string {
  const problems = `${formatCount(relaxations!)} convex ${relaxations === 1 ? 'problem' : 'problems'}`
  const closeness = gap === null ? 'of an unknown gap' : `solved to a relative gap of ${formatGap(gap)}`
  const outcome = {
    converged: `reached ${formatGap(tolerance)}`,
    'max-passes': 'stopped at --max-passes',
    interrupted: 'interrupted',
  }[exitReason]
  return `objective ${formatObjective(primal!)} after ${problems}, the last ${closeness} (${outcome})`
}

function certificateLine(result: TrainResult, tolerance: number): string {
  const { primal, dual, gap, exitReason, outliers } = result
  if (primal === null) return 'interrupted before the model could be certified; --resume goes on'
  if (outliers !== undefined) return truncatedLine(result, tolerance)
  if (dual === null || gap === null) return `primal ${formatObjective(primal)}; this method has no certificate`
  const outcome = {
    converged: gap <= tolerance ? `reached ${formatGap(tolerance)}` : 'ended by the rule that was asked for',
    'max-passes': `stopped at --max-passes, short of ${formatGap(tolerance)}`,
    interrupted: 'interrupted',
  }[exitReason]
  return `primal ${formatObjective(primal)}, dual ${formatObjective(dual)}, relative gap ${formatGap(gap)} (${outcome})`
}
