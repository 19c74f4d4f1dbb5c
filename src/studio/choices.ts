// What can be chosen for a run, by the lists of the program.
import { allAdditiveKernels } from '../additive-kernels/all-additive-kernels.ts'
import { scaleKinds } from '../features/scale-kinds.ts'
import { allLosses } from '../losses/all-losses.ts'
import { multiclassNames } from '../losses/formulations.ts'
import { allSolvers, solverChoices } from '../optimise/solvers/all-solvers.ts'
import { DEFAULTS } from '../train/options.ts'

interface Choice {
  name: string
  summary: string
}

const choice = ({ name, summary }: Choice): Choice => ({ name, summary })

export function choices(): object {
  const [first] = solverChoices([])
  return {
    losses: allLosses.map(loss => ({ ...choice(loss), ...(loss.truncates && { truncates: true }) })),
    solvers: [{ name: first, summary: 'the one that suits the data and the memory' }, ...allSolvers.map(choice)],
    kernels: [
      { name: DEFAULTS.kernel, summary: 'features as they are' },
      ...allAdditiveKernels.map(({ example, summary }) => ({ name: example, summary })),
    ],
    scales: [...scaleKinds, 'none'],
    normalizes: ['unit'],
    multiclass: multiclassNames,
    defaults: {
      ...{ loss: DEFAULTS.loss, cost: DEFAULTS.cost, solver: DEFAULTS.solver, kernel: DEFAULTS.kernel },
      ...{ tolerance: DEFAULTS.tolerance, multiclass: DEFAULTS.multiclass, seed: DEFAULTS.seed },
      ...{ outlierMargin: DEFAULTS.outlierMargin },
    },
  }
}
