// Memory that nobody uses any more goes back to the system now, not when the engine thinks of it: a cap counts it until then.
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
