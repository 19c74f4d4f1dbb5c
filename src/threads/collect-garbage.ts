// Gives unused memory back to the system at once. The engine would do it later, and a cap counts the memory until then.
import v8 from 'node:v8'
import vm from 'node:vm'

let collect: (() => void) | undefined

export function collectGarbage(): void {
  if (!collect) {
    v8.setFlagsFromString('--expose-gc')
    collect = vm.runInNewContext('gc') as () => void
  }
  collect()
}
