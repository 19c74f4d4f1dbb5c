// What libraries of MPI differ in. Open MPI and MPICH have the same functions, but other handles, and a program must take the
// library of the launcher that started it.

/** The handles that calls take: addresses or numbers, as the library has them. */
export interface MpiHandles {
  world: bigint | number
  double: bigint | number
  byte: bigint | number
  sum: bigint | number
  max: bigint | number
}

export interface MpiKind {
  title: string
  /** Names to look for, the usual ones first. */
  files: readonly string[]
  /** What brings the library, on Debian and its like. */
  install: string
  /** The type of a handle in C. */
  handleType: 'void *' | 'int'
  /** What stands for the place of the result where one is taken for what is sent. */
  inPlace: bigint
  /** What stands for any rank where one is taken to receive from. */
  anySource: number
  /** Settings of the environment that are made, unless the user has made them, before the library starts. */
  environment: Readonly<Record<string, string>>
  /** Whether a loaded library is of this kind; `address` tells the address of a name in it, if there is one. */
  detect(address: (name: string) => bigint | undefined): boolean
  handles(address: (name: string) => bigint | undefined): MpiHandles
}
