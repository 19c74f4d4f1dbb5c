// Every additive kernel, one line each.
import { UsageError } from '../errors.ts'
import type { AdditiveKernel, ScalarKernel } from './additive-kernel.ts'
import { chi2 } from './chi2.ts'
import { intersection } from './intersection.ts'
import { jensenShannon } from './jensen-shannon.ts'
import { powerMean } from './power-mean.ts'

export const allAdditiveKernels: AdditiveKernel[] = [chi2, intersection, powerMean, jensenShannon]

/** How each is written, for help and errors. */
export const kernelForms = allAdditiveKernels.map(({ name, takes }) => (takes ? `${name}:${takes}` : name))

/** The function that a text such as `power-mean:-2` names. */
export function findScalarKernel(text: string): ScalarKernel {
  const [name, ...words] = text.split(':')
  const kernel = allAdditiveKernels.find(entry => entry.name === name)
  if (!kernel) {
    throw new UsageError(`there is no kernel "${text}"; expected linear, ${kernelForms.join(', ')}`)
  }
  return kernel.parse(words)
}
