// The contract suite of every solver in the list.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allSolvers, findSolver } from '../../src/optimise/solvers/all-solvers.ts'
import type { Solver } from '../../src/optimise/solvers/solver.ts'
import { solverContract } from './solver-contract.ts'

for (const solver of allSolvers) solverContract(solver)

describe('findSolver', () => {
  it('refuses a name that no solver has, and says which there are', () => {
    const names = ['auto', ...allSolvers.map((solver: Solver) => solver.name)].join(', ')
    assert.throws(
      () => findSolver('magic'),
      new RegExp(`^UsageError: there is no solver "magic"; expected one of ${names}$`),
    )
  })
})
