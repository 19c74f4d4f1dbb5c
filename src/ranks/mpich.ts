// MPICH and libraries that agree with it on the binary interface (Intel MPI, MVAPICH): a handle is a number that mpi.h says.
import type { MpiKind } from './mpi-library.ts'

export const mpich: MpiKind = {
  title: 'MPICH',
  files: ['libmpich.so.12', 'libmpi.so.12', 'libmpich.so', 'libmpi.so'],
  install: 'apt-get install mpich',
  handleType: 'int',
  inPlace: -1n,
  anySource: -2,
  environment: {},
  // Open MPI has variables for its handles.
  detect: address => address('MPI_Init_thread') !== undefined && address('ompi_mpi_comm_world') === undefined,
  handles: () => ({
    world: 0x44000000,
    double: 0x4c00080b,
    byte: 0x4c00010d,
    sum: 0x58000003,
    max: 0x58000001,
  }),
}
