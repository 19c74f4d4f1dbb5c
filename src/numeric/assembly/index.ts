// What the compiled module exports. One line a file.
export { allocate } from './memory'
export { iota, shuffle } from './random'
export { axpyF32, axpyF64, dotF32, dotF64, squaredLengthF32, squaredLengthF64, squaredNorm } from './row'
export { addDualF32, addDualF64, sweepBoxF32, sweepBoxF64, sweepLogisticF32, sweepLogisticF64 } from './dual'
export { evaluateF32, evaluateF64 } from './evaluate'
export { numberLabels, parseLibsvm } from './parse-libsvm'
export { packBatch, relabelRows } from './pack'
export { xxh64 } from './hash'
