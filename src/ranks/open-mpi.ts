// Open MPI: a handle is the address of a variable of the library.
import type { MpiHandles, MpiKind } from './mpi-library.ts'

const NAMES: Record<keyof MpiHandles, string> = {
  world: 'ompi_mpi_comm_world',
  double: 'ompi_mpi_double',
  byte: 'ompi_mpi_byte',
  sum: 'ompi_mpi_op_sum',
  max: 'ompi_mpi_op_max',
}

export const openMpi: MpiKind = {
  title: 'Open MPI',
  files: ['libmpi.so.40', 'libmpi.so'],
  install: 'apt-get install openmpi-bin',
  handleType: 'void *',
  inPlace: 1n,
  anySource: -1,
  // A call that waits asks again and again. It gives its core to threads that have work in between.
  environment: { OMPI_MCA_mpi_yield_when_idle: '1' },
  detect: address => address(NAMES.world) !== undefined,
  handles(address) {
    const find = (name: keyof MpiHandles): bigint => {
      const found = address(NAMES[name])
      if (found === undefined) throw new Error(`this Open MPI has no ${NAMES[name]}`)
      return found
    }
    return { world: find('world'), double: find('double'), byte: find('byte'), sum: find('sum'), max: find('max') }
  },
}
