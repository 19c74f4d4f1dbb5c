// Items, or work, until a signal is aborted.

/** The items until the signal is aborted, also while the next one is still awaited: a pipe may never bring it. */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  if (!signal) return yield* items
  const iterator = items[Symbol.asyncIterator]()
  let stop: (() => void) | undefined
  const aborted = new Promise<undefined>(resolve => {
    stop = () => resolve(undefined)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  let waiting = false
  try {
    for (;;) {
      waiting = true
      const next = iterator.next()
      const item = await Promise.race([next, aborted])
      if (!item) {
        // Nobody waits for this one any more; it must not become an unhandled rejection.
        next.catch(() => {})
        return
      }
      waiting = false
      if (item.done) return
      yield item.value
    }
  } finally {
    signal.removeEventListener('abort', stop!)
    const ended = iterator.return?.()
    // A source that is stuck closes when it wakes up; one that is not is waited for.
    if (waiting && signal.aborted) ended?.catch(() => {})
    else await ended
  }
}

/** What the work comes to, or the signal's reason as soon as it is aborted. The work itself goes on: its caller ends the
 *  threads that it waits for. */
export async function unlessAborted<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work()
  signal.throwIfAborted()
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  const working = work()
  // Work that nobody waits for any more may fail when its threads end; that must not become an unhandled rejection.
  working.catch(() => {})
  try {
    return await Promise.race([working, aborted])
  } finally {
    signal.removeEventListener('abort', stop!)
  }
}
