// LIBLINEAR's solver types, by the names that its model files use, and what each means here.
import type { Model } from './model.ts'

export interface LiblinearType {
  loss: string
  regularizer: Model['regularizer']
  multiclass: Model['multiclass']
}

const type = (
  regularizer: Model['regularizer'],
  loss: string,
  multiclass: Model['multiclass'] = 'one-vs-rest',
): LiblinearType => ({ loss, regularizer, multiclass })

/** The classification types. Of several that fit a model, the writer takes the first. */
export const CLASSIFICATION_TYPES: ReadonlyMap<string, LiblinearType> = new Map([
  ['L2R_L1LOSS_SVC_DUAL', type('l2', 'hinge')],
  ['L2R_L2LOSS_SVC_DUAL', type('l2', 'squared-hinge')],
  ['L2R_L2LOSS_SVC', type('l2', 'squared-hinge')],
  ['L2R_LR_DUAL', type('l2', 'logistic')],
  ['L2R_LR', type('l2', 'logistic')],
  ['MCSVM_CS', type('l2', 'hinge', 'crammer-singer')],
  ['L1R_L2LOSS_SVC', type('l1', 'squared-hinge')],
  ['L1R_LR', type('l1', 'logistic')],
])

/** Types that LIBLINEAR has and that are no classifiers. */
export const OTHER_TYPES: ReadonlyMap<string, string> = new Map([
  ['L2R_L2LOSS_SVR', 'regression'],
  ['L2R_L2LOSS_SVR_DUAL', 'regression'],
  ['L2R_L1LOSS_SVR_DUAL', 'regression'],
  ['ONECLASS_SVM', 'one-class'],
])

/** The type to write. A loss that LIBLINEAR lacks goes under a stand-in: only the weights matter to its predictions. */
export function liblinearTypeOf(model: Model): { name: string; exact: boolean } {
  const fits = ({ loss, regularizer, multiclass }: LiblinearType): boolean =>
    loss === model.loss && regularizer === model.regularizer && multiclass === model.multiclass
  const own = CLASSIFICATION_TYPES.get(model.solver)
  if (own && fits(own)) return { name: model.solver, exact: true }
  for (const [name, candidate] of CLASSIFICATION_TYPES) if (fits(candidate)) return { name, exact: true }
  // The type also says how many vectors there are, so the stand-in has to tell classes apart in the same way.
  const alike = [...CLASSIFICATION_TYPES].find(([, { multiclass }]) => multiclass === model.multiclass)!
  return { name: alike[0], exact: false }
}
