// Work that runs in any order, results that are taken in one.

/** Starts work on every item as it comes and takes the results in the order of the items. The source must hold back by
 *  itself (here: by running out of slots, which `release` gives back). The first failure, in that order, is thrown once
 *  nothing is running any more. */
export async function inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  start: (item: Item) => Promise<Result>,
  take: (item: Item, result: Result) => void | Promise<void>,
  release: (item: Item) => void,
): Promise<void> {
  let failure: { error: unknown } | undefined
  let last: Promise<void> = Promise.resolve()
  const running = new Set<Promise<unknown>>()
  try {
    for await (const item of items) {
      const started = start(item)
      running.add(started)
      started.then(
        () => running.delete(started),
        () => running.delete(started),
      )
      const before = last
      last = (async () => {
        await before
        try {
          const result = await started
          if (!failure) await take(item, result)
        } catch (error) {
          failure ??= { error }
        } finally {
          release(item)
        }
      })()
      if (failure) break
    }
  } catch (error) {
    // A failure of the source itself comes after those of the items before it.
    await last
    failure ??= { error }
  }
  await last
  await Promise.allSettled(running)
  if (failure) throw failure.error
}
