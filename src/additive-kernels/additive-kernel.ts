// What an additive kernel is to the rest of the program: a function of two numbers, summed over features. Adding one is a file
// with that function and a line in all-additive-kernels.ts. It must be positive definite on [0, 1], and 0 where a value is 0,
// so that sparse rows stay sparse.

/** An entry of the list of additive kernels. */
export interface AdditiveKernel {
  name: string
  summary: string
  /** What follows the name and a colon in --kernel, e.g. `P`. */
  takes?: string
  /** As a user may write it; the contract tests try it. */
  example: string
  /** The function that these words ask for, which stand between colons behind the name; refuses what cannot be. */
  parse(words: string[]): ScalarKernel
}

export interface ScalarKernel {
  /** As a user may write it: the one form in models, checkpoints and messages. */
  text: string
  /** The degree of its projection where none is asked for: 2, or more where the function bends at x = y. */
  degree?: number
  /** Of two numbers above 0. */
  of(x: number, y: number): number
}
