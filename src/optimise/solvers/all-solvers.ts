// Every solver, one line each.
import { UsageError } from '../../errors.ts'
import { admm } from './admm.ts'
import { average } from './average.ts'
import { block } from './block.ts'
import { dual } from './dual.ts'
import { indexed } from './indexed.ts'
import { lbfgs } from './lbfgs.ts'
import { newton } from './newton.ts'
import { onePass } from './one-pass.ts'
import { pegasos } from './pegasos.ts'
import { primalCoordinate } from './primal-coordinate.ts'
import { selective } from './selective.ts'
import type { Solver } from './solver.ts'
import { stream } from './stream.ts'

export const allSolvers: Solver[] = [
  dual,
  block,
  selective,
  stream,
  indexed,
  pegasos,
  onePass,
  primalCoordinate,
  newton,
  lbfgs,
  average,
  admm,
]

const AUTO = 'auto'
/** What --solver takes. */
export const solverChoices = (solvers: Solver[] = allSolvers): string[] => [AUTO, ...solvers.map(({ name }) => name)]

/** The solver that was asked for; undefined when the choice is left to the program. */
export function askedSolver(name: string): Solver | undefined {
  return name === AUTO ? undefined : findSolver(name)
}

export function findSolver(name: string): Solver {
  const found = allSolvers.find(solver => solver.name === name)
  if (!found) {
    throw new UsageError(`there is no solver "${name}"; expected one of ${solverChoices().join(', ')}`)
  }
  return found
}
