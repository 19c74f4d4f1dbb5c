// What the compiled module exports. One line a file.

export { bringColumns, bringOn, bringRows, bringWeightsF32, bringWeightsF64, wordsTouched } from './ahead'
export { alongBundle2, alongBundle4, alongBundle8, alongF32, alongF64, alongSoftmax, alongTogether } from './along'
export {
  addDualBundle2,
  addDualBundle4,
  addDualBundle8,
  copyStrided,
  gatherListed,
  scatterListed,
  evaluateBundle2,
  evaluateBundle4,
  evaluateBundle8,
  scoreHeldOut2,
  scoreHeldOut4,
  scoreHeldOut8,
  squaredLengths2,
  squaredLengths4,
  squaredLengths8,
  startEntropicBundle2,
  startEntropicBundle4,
  startEntropicBundle8,
  sweepBundle2,
  sweepBundle4,
  sweepBundle8,
} from './bundle'
export { addMoves, entropyAlong, freeRows, listDiagonals, makeMoves, moveTowards, overRows, stepSums, timesMoves } from './between-ranks'
export { addColumns, columnBounds, countColumns, fillColumns, rowCosts, startColumns } from './columns'
export { addDualTogether, evaluateTogether, solveSimplex, stepSumsTogether, sweepTogether } from './crammer-singer'
export { blankCells, cellsToTexts, lengthsToCells, lookUpCells, numbersToCells, offsetsToCells, replaceCells, spreadCells, textsToCells } from './decode-cells'
export { decodeSegment } from './decode-segment'
export { addDualF32, addDualF64, rowWorth, startEntropicF32, startEntropicF64, visitedSums } from './dual'
export { sweepBoxF32, sweepBoxF64, sweepLogisticF32, sweepLogisticF64 } from './dual'
export { sweepBoxPartedF32, sweepBoxPartedF64, sweepLogisticPartedF32, sweepLogisticPartedF64 } from './dual'
export { assignRows, encodeSegment, sealSegment } from './encode-segment'
export { evaluateAlongF32, evaluateAlongF64, evaluateF32, evaluateF64 } from './evaluate'
export {
  countFeatures,
  enterBatch,
  enterFeatures,
  enterRows,
  finishMap,
  listFeatures,
  mergeMap,
  orderByFrequency,
  renumberBatch,
  renumberRows,
  pickPlaces, spreadPlaces,
} from './feature-map'
export { expandHash, hashFeatures } from './expand-hash'
export { expandPolynomial } from './expand-polynomial'
export { expandTable } from './expand-table'
export { expandWeightedDegree } from './expand-weighted-degree'
export { halvesKind, splitRows, startHalves, sweepHalvesAlone, sweepHalvesFirst, sweepHalvesSecond } from './halves'
export { generateRows, hiddenLength } from './generate'
export { xxh64, xxh64Stripes } from './hash'
export { interiorRows, reachRows } from './interior'
export { marginsOfColumns, startModel, stateOfSquared, sweepL1Logistic, sweepL1Squared } from './l1'
export { dualOfLogistic, evaluateL1, lengthL1, shortenDual, steepest, sumsOfSquared } from './l1-certificate'
export { clipNewton, directionL1, newtonL1, stepL1, stepL1Squared } from './l1-newton'
export { allocate } from './memory'
export { boxOf, clearRow, countBits, findInLeaf, nearestPivot, spreadAbout, sumRows } from './metric-tree'
export { carryOn, carryOnBundle2, carryOnBundle4, carryOnBundle8, carryRows, carryWeights, dualParts } from './momentum'
export { growBallF32, growBallF64 } from './one-pass'
export { findOutliersF32, findOutliersF64, leaveOut, takeOutF32, takeOutF64 } from './outliers'
export { packBatch, relabelRows, workOf } from './pack'
export { areAllPresent, countPresent, gatherBytes, unpackDeltas, unpackRuns, unpackSnappy } from './parquet-page'
export { checkColumns, parseColumns } from './parse-columns'
export { parseLabelString } from './parse-label-string'
export { numberLabels, parseLibsvm } from './parse-libsvm'
export { parseTable } from './parse-table'
export { pegasosBlockF32, pegasosBlockF64, pegasosRowsF32, pegasosRowsF64 } from './pegasos'
export { iota, shuffle, shuffleNear } from './random'
export { axpyF32, axpyF64, copyRecords, dotF32, dotF64, finishRow, recordBytes, squaredLengthF32, squaredLengthF64, squaredNorm } from './row'
export { addRowTogether, addSome, addSquaresTogether, scoreSome, scoreTogether } from './row-together'
export { binRows, findOutside, roundBatch } from './bin-rows'
export { fitBatch, gatherCounts, gatherExtremes, gatherMoments, gatherRanges, scaleRows } from './scale'
export { scoreBatch } from './score'
export { adoptRows, enterEvaluated, followWeights, keepListed, listAbsent, listNear, settleAlpha, takeInF32, takeInF64 } from './working-set'
export { numberFeatures, placeAlpha, placeFeatures, placeRows, placeWeightsF32, placeWeightsF64 } from './first-pass'
export { countOccurrences, invertNumbers, mergeHotF32, mergeHotF64, renumberEntries, renumberWeightsF32, renumberWeightsF64 } from './hot-weights'
export { sumReplicasF32, sumReplicasF64, withoutReplicasF32, withoutReplicasF64 } from './replicas'
export { keepMarginsL2, lossL2Logistic, startL2Logistic, sweepL2 } from './l2-columns'
export { adagradRows } from './adagrad'
export { addSquares, writeEntries } from './entries'
export { curvatureRows, dualOfMargins, lineRows, scoreHeldOutRows, slopeRows } from './primal'
export { curvatureSoftmax, evaluateSoftmax, slopeSoftmax } from './softmax'
export { combine, factorCholesky, foldTriangles, gatherPieces, innerProduct, precondition, solveCholesky } from './vectors'
export { endOfMerged, growList, listValues, mergeValues, scanColumns, scanTable } from './scan-table'
export { childCount, openNode, popBin, pushBin, rowsWaiting } from './tree-search'
