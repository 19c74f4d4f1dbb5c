// What a problem has besides its loss: a regulariser, and a way to tell more than two classes apart. Options and models hold
// names; the rest of the program asks here what a name means.

/** What is added to the losses: ½‖w‖², or ‖w‖₁, which makes most weights zero. */
export const regularizers = { l2: { sparse: false }, l1: { sparse: true } }
export type Regularizer = keyof typeof regularizers

/** One class against the rest, class after class; or all classes in one problem, each with weights of its own. `dual`: whether
 *  a problem of all classes is solved by its dual variables, or else by its gradient. `probability`: whether the scores of all
 *  classes are probabilities by their softmax. */
export const multiclassKinds = {
  'one-vs-rest': { together: false, dual: true, probability: false },
  'crammer-singer': { together: true, dual: true, probability: false },
  softmax: { together: true, dual: false, probability: true },
}
export type MulticlassKind = keyof typeof multiclassKinds
/** Those of all classes in one problem. */
export type TogetherKind = Exclude<MulticlassKind, 'one-vs-rest'>

export const regularizerNames = Object.keys(regularizers) as Regularizer[]
export const multiclassNames = Object.keys(multiclassKinds) as MulticlassKind[]

/** Whether most weights are zero at the optimum. */
export function isSparse(regularizer: Regularizer): boolean {
  return regularizers[regularizer].sparse
}

/** Whether all classes are one problem. */
export function trainsTogether(multiclass: MulticlassKind): multiclass is TogetherKind {
  return multiclassKinds[multiclass].together
}

/** Whether all classes are one problem that is solved by its gradient: it has no dual variables of its own. */
export function trainsByGradient(multiclass: MulticlassKind): boolean {
  return !multiclassKinds[multiclass].dual
}

/** Folds and additive kernels are for binary problems under the usual regulariser: the words for what is not. */
export function beyondBinary(asked: { multiclass: MulticlassKind; regularizer: Regularizer }): string | undefined {
  if (trainsTogether(asked.multiclass)) return `multiclass ${asked.multiclass}`
  return isSparse(asked.regularizer) ? `the ${asked.regularizer} regularizer` : undefined
}
