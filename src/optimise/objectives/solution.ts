// How a problem was left: its certificate, the passes made, and why there are no more.
import type { Certificate } from './certificate.ts'
import type { ShortEnd } from './line-search.ts'

export type ExitReason = 'converged' | 'max-passes' | 'interrupted'

export interface Solution {
  /** Undefined when the run was interrupted before it could be certified. */
  certificate: Certificate | undefined
  passes: number
  exitReason: ExitReason
  /** Of a run that ended short of its tolerance: what its weights are multiplied by, and why that may be. */
  short?: ShortEnd
}
