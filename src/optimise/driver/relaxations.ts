// The outer loop of truncated losses: a series of convex problems.
//
//   min_w  T(w) = ½‖w‖² + C Σ_i min(loss(m_i), 1 + s),  m_i = y_i wᵀx_i
//   w_{t+1} = argmin_w  ½‖w‖² + C Σ_{i is no outlier at w_t} loss(m_i) + C Σ_{i is one} (1 + s)
//
// Yen, Chang, Lin, Lin, Lin: Indexed block coordinate descent for large-scale linear classification with limited memory
// (KDD 2013), relaxation (5). Any solver of the convex loss solves the convex problems, and each goes on from where the last
// one ended. What is minimised lies above T and meets it at w_t, so T falls from one to the next.
//
// It ends when no row changes sides any more, or when T hardly falls. T may rise where a convex problem has no more to gain
// than its own tolerance: that one is solved more closely, until T has fallen, and is the last one. The first convex problem, whose solution is w_0, is
// that of some rows drawn at random, as in the paper, or of all.
import type { Certificate } from '../objectives/certificate.ts'
import type { OutlierLook, Outliers } from '../objectives/outliers.ts'
import type { Solution } from '../objectives/solution.ts'

/** Rows of the sample that the loop starts from. */
export const SAMPLE_ROWS = 10_000
/** T must fall by so much of itself from one convex problem to the next. */
const LEAST_FALL = 1e-6
/** Where T rises, the gap of the convex problem has to be so much smaller; but never smaller than this share of the tolerance. */
const CLOSER = 0.1
const CLOSEST = 0.0101

/** Where the outer loop stands: plain data, for checkpoints have it as it is. */
export interface Course {
  /** Of the convex problem under way: 0 for the one that the loop starts from. */
  relaxation: number
  /** Its gap. */
  tolerance: number
  /** T at the weights that said who its outliers are; null before. */
  objective: number | null
}

/** What is told of a convex problem that was solved: T there, the rows that are outliers, and those that were not so before, or
 *  are not so any more. */
export interface Looked extends Omit<OutlierLook, 'trainingAccuracy'> {
  relaxation: number
  /** Of the convex problem. */
  gap: number | null
}

export interface Relaxing {
  outliers: Outliers
  tolerance: number
  signal?: AbortSignal | undefined
  /** Where to begin. */
  course: Course
  /** Whether the problem that the loop starts from has all rows. */
  startsWithAll: boolean
  /** Solves the convex problem that the course is at, from the weights as they are. */
  solve(course: Course): Promise<Solution>
  /** Whether a look costs reading: after an interrupt there is none then. */
  reads: boolean
  /** Hears of every look. */
  looked?: (looked: Looked) => void
  /** Whether all passes have been made that there may be. */
  isSpent(): boolean
}

/** The beginning of an outer loop. */
export function startOfCourse(tolerance: number): Course {
  return { relaxation: 0, tolerance, objective: null }
}

/** Solves a truncated problem. */
export async function relax(relaxing: Relaxing): Promise<Solution> {
  const { outliers, tolerance, signal, solve, startsWithAll, reads, isSpent, looked } = relaxing
  let course = relaxing.course
  for (;;) {
    const solution = await solve(course)
    const interrupted = solution.exitReason === 'interrupted'
    const factor = solution.short?.factor ?? 1
    const look = interrupted && reads ? undefined : await outliers.look(factor, interrupted ? undefined : signal)
    if (!look) return { ...solution, certificate: undefined, exitReason: 'interrupted' }
    const { trainingAccuracy: _, ...seen } = look
    looked?.({ ...seen, relaxation: course.relaxation, gap: solution.certificate?.gap ?? null })
    const end = (how = solution): Promise<Solution> => truncated(how, outliers, look, course)
    // A sample is but a start: the series goes on from it however closely it was solved.
    const isSample = course.relaxation === 0 && !startsWithAll
    if (interrupted || (solution.exitReason !== 'converged' && !isSample)) return end()
    const rises = course.objective !== null && look.objective > course.objective
    const isClose = course.tolerance < tolerance
    if (rises ? course.tolerance <= CLOSEST * tolerance : isClose || isDone(course, look, startsWithAll)) return end()
    if (isSpent()) return end({ ...solution, exitReason: 'max-passes' })
    if (rises) {
      course = { ...course, tolerance: course.tolerance * CLOSER }
      continue
    }
    outliers.leaveOut()
    course = { ...course, relaxation: course.relaxation + 1, objective: look.objective }
  }
}

/** Whether there is nothing more to gain. */
function isDone({ relaxation, objective }: Course, look: OutlierLook, startsWithAll: boolean): boolean {
  if (relaxation === 0) return startsWithAll && look.changed === 0
  return look.changed === 0 || (objective !== null && objective - look.objective <= LEAST_FALL * objective)
}

/** A solution of the truncated problem: of a problem that is not convex there is no dual. The gap is that of the last convex
 *  one. */
async function truncated(
  solution: Solution,
  outliers: Outliers,
  look: OutlierLook,
  { relaxation }: Course,
): Promise<Solution> {
  const { certificate, short } = solution
  // Of a run that ended short it is told what w = 0 would cost: all rows, not those of a convex problem alone.
  const atZero = short && (await outliers.look(0))?.objective
  const { objective: primal, outliers: givenUp, trainingAccuracy } = look
  const own: Certificate = {
    ...{ primal, dual: null, gap: certificate?.gap ?? null, supportVectors: certificate?.supportVectors ?? null },
    ...{ trainingAccuracy, outliers: givenUp, relaxations: relaxation },
  }
  return { ...solution, certificate: own, ...(short && { short: { ...short, atZero: atZero ?? short.atZero } }) }
}
