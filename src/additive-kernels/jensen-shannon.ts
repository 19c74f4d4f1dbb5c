// `jensen-shannon`: (x/2) log₂((x+y)/x) + (y/2) log₂((x+y)/y).
import { UsageError } from '../errors.ts'
import type { AdditiveKernel } from './additive-kernel.ts'

export const jensenShannon: AdditiveKernel = {
  name: 'jensen-shannon',
  summary: "Jensen and Shannon's kernel",
  example: 'jensen-shannon',
  parse(words) {
    if (words.length > 0) throw new UsageError('--kernel jensen-shannon takes nothing behind its name')
    return {
      text: 'jensen-shannon',
      of: (x, y) => (x / 2) * Math.log2((x + y) / x) + (y / 2) * Math.log2((x + y) / y),
    }
  },
}
