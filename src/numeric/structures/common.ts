// What most loops share: the table of layouts.ts.
import { batches } from './batches.ts'
import { problems } from './problems.ts'
import { rows } from './rows.ts'
import type { LayoutFile } from './structure.ts'

export const common: LayoutFile = {
  file: 'layouts.ts',
  opening:
    'Byte layouts that the AssemblyScript loops and the TypeScript around them share. All addresses are bytes in the one shared memory.',
  parts: [...rows, ...batches, ...problems],
}
