// The arena from several threads at once, and the pool.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { SpillwayError } from '../../src/errors.ts'
import { libsvm } from '../../src/input-formats/libsvm.ts'
import { Arena, formatBytes } from '../../src/numeric/arena.ts'
import { ARENA_NEXT, ARENA_START } from '../../src/numeric/layouts.ts'
import { parseRowsTask } from '../../src/rows/parse-rows-task.ts'
import { type LoopOptions, loopTask } from '../../src/threads/loop-task.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import { compileCacheTask, toldTask } from './told-task.ts'

describe('the arena', () => {
  it('gives disjoint regions to threads that allocate at once', async () => {
    const arena = new Arena()
    const gate = new Int32Array(new SharedArrayBuffer(4))
    const script = new URL('./arena-worker.ts', import.meta.url)
    const workers = [0, 1, 2, 3].map(
      thread => new Worker(script, { workerData: { share: arena.share, thread, threads: 4, gate } }),
    )
    const answers = workers.map(
      worker =>
        new Promise<[number, number][]>((resolve, reject) => {
          worker.once('message', resolve)
          worker.once('error', reject)
        }),
    )
    const regions = (await Promise.all(answers)).flatMap((list, thread) =>
      list.map(([at, bytes]) => ({ at, bytes, thread })),
    )
    await Promise.all(workers.map(worker => worker.terminate()))
    assert.equal(regions.length, 12_000)
    for (const { at, bytes, thread } of regions) {
      assert.equal(at % 64, 0)
      assert.ok(at >= ARENA_START)
      assert.ok(
        arena.bytes(at, bytes).every(byte => byte === thread + 1),
        'another thread wrote into the region',
      )
    }
    const filled = regions.filter(region => region.bytes > 0).sort((a, b) => a.at - b.at)
    filled.forEach(({ at }, k) => {
      if (k > 0) assert.ok(at >= filled[k - 1].at + filled[k - 1].bytes)
    })
    const last = filled.at(-1)!
    assert.ok(arena.getU32(ARENA_NEXT) >= last.at + last.bytes)
    const order = filled.map(region => region.thread)
    assert.ok(
      order.some((thread, k) => k > 0 && thread < order[k - 1]),
      'the threads took turns',
    )
  })

  it('gives back what came after a mark, and zeroed room is zero even then', () => {
    const arena = new Arena()
    arena.allocate(100, 'a')
    const mark = arena.mark()
    const b = arena.allocate(1000, 'b')
    arena.bytes(b, 1000).fill(7)
    arena.release(mark)
    const c = arena.allocateZeroed(1000, 'c')
    assert.equal(c, b)
    assert.ok(arena.bytes(c, 1000).every(byte => byte === 0))
  })

  it('refuses what the 4 GiB window cannot hold, and stays usable', () => {
    const arena = new Arena()
    const before = arena.mark()
    for (const bytes of [2 ** 32 - 65536, 2 ** 32, 2 ** 40]) {
      assert.throws(
        () => arena.allocate(bytes, 'the weights'),
        error => {
          assert.ok(error instanceof SpillwayError)
          assert.match(error.message, /does not fit in the 4 GiB window .* no room left for the weights \(/)
          return true
        },
      )
    }
    assert.equal(arena.mark(), before)
    assert.ok(arena.allocate(1000, 'something') > 0)
  })

  it('formatBytes', () => {
    assert.deepEqual([0, 1, 1023, 1024, 1536, 102_400, 5 * 2 ** 30, 2 ** 50].map(formatBytes), [
      '0 B',
      '1 B',
      '1023 B',
      '1.00 KiB',
      '1.50 KiB',
      '100 KiB',
      '5.00 GiB',
      '1024 TiB',
    ])
  })
})

/** A loop over no rows. */
const noRows = (arena: Arena): LoopOptions => ({
  loop: 'evaluateF64',
  numbers: [arena.allocateZeroed(128, 'a problem'), 0, 0, arena.allocate(1024, 'sums')],
})

/** Gives a pool tasks until a worker has done one. */
async function untilElsewhere(pool: ThreadPool): Promise<void> {
  while ((await pool.run(toldTask, { list: [] })).isMainThread);
}

describe('the thread pool', () => {
  it('a failing task rejects alone; the pool goes on, and closes for good', async () => {
    const arena = new Arena()
    const pool = new ThreadPool(arena.share, 2)
    const nothing = noRows(arena)
    const wrong = pool.run({ ...loopTask, name: 'no-such-task' }, nothing)
    const right = Array.from({ length: 20 }, () => pool.run(loopTask, nothing))
    await assert.rejects(wrong, Error)
    await Promise.all(right)
    assert.equal(pool.pending, 0)
    await pool.close()
    await assert.rejects(pool.run(loopTask, nothing), /the thread pool is closed/)
  })

  it('has its workers keep compiled code where the process does', async t => {
    const arena = new Arena()
    const inWorker = async (): Promise<string | undefined> => {
      await using pool = new ThreadPool(arena.share, 1)
      return await pool.run(compileCacheTask, undefined)
    }
    assert.equal(await inWorker(), getCompileCacheDir())
    const folder = mkdtempSync(join(tmpdir(), 'spillway-compile-cache-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    enableCompileCache(folder)
    assert.ok(getCompileCacheDir())
    assert.equal(await inWorker(), getCompileCacheDir())
  })

  it('a refusal keeps its class, advice and exit code on the way back', async () => {
    const arena = new Arena()
    // The window is full: the worker cannot get its buffers.
    arena.setU32(ARENA_NEXT, 0xffff0000 - 64)
    const pool = new ThreadPool(arena.share, 1)
    const options = {
      format: { module: libsvm.module, name: libsvm.name },
      at: ARENA_START,
      first: true,
      bytes: 0,
      parse: { indexBase: 1, skipBad: false, valueBits: 32 as const },
      pack: { unit: false, plain: false, load: 0 },
    }
    await assert.rejects(pool.run(parseRowsTask, options), error => {
      assert.ok(error instanceof SpillwayError)
      assert.match(error.message, /4 GiB window/)
      assert.equal(error.advice, 'train on fewer rows or features')
      assert.equal(error.exitCode, 1)
      return true
    })
    await pool.close()
  })

  it('closing rejects what waits', async () => {
    const arena = new Arena()
    const pool = new ThreadPool(arena.share, 1)
    const nothing = noRows(arena)
    const waiting = Array.from({ length: 50 }, () => pool.run(loopTask, nothing))
    const settled = Promise.allSettled(waiting.slice(1))
    await pool.close()
    const rejected = (await settled).filter(result => result.status === 'rejected')
    assert.ok(rejected.length >= 40)
  })

  it('of a small work runs tasks in its own thread, one after the other, and starts no worker', async () => {
    const arena = new Arena()
    await using pool = new ThreadPool(arena.share, 2, { inPlace: 'small' })
    const list = [1, 2]
    const first = pool.run(toldTask, { list })
    const wrong = pool.run(toldTask, { list, fail: true })
    const second = pool.run(toldTask, { list: [] })
    assert.equal(pool.pending, 3)
    assert.deepEqual(await first, { isMainThread: true, seen: [3] })
    await assert.rejects(wrong, /^RangeError: told to fail$/)
    assert.deepEqual(await second, { isMainThread: true, seen: [3, 1] })
    assert.deepEqual(list, [1, 2], 'options are copied, as they are for a worker')
    assert.deepEqual((await first).seen, [3], 'and so are results')
    assert.deepEqual([pool.pending, pool.workers], [0, 0])
  })

  it('of a small work that turns out long starts workers, and goes on here until they are there', async () => {
    const arena = new Arena()
    await using pool = new ThreadPool(arena.share, 3, { inPlace: 'small' })
    const longer = await pool.run(toldTask, { list: [], milliseconds: 120 })
    assert.ok(longer.isMainThread)
    assert.equal(pool.workers, 0)
    const others = [1, 2, 3].map(() => pool.run(toldTask, { list: [] }))
    assert.equal(pool.workers, 2, 'as many as tasks wait')
    assert.ok((await Promise.all(others))[0].isMainThread)
    await untilElsewhere(pool)
  })

  it('that helps itself while workers start leaves tasks to them when they are there', async () => {
    const arena = new Arena()
    await using pool = new ThreadPool(arena.share, 2, { inPlace: 'until-ready' })
    assert.equal(pool.workers, 2)
    assert.ok((await pool.run(toldTask, { list: [] })).isMainThread)
    await untilElsewhere(pool)
    const later = await Promise.all(Array.from({ length: 8 }, () => pool.run(toldTask, { list: [] })))
    // One worker may still be on its way: then this thread has done some of them.
    assert.ok(later.some(({ isMainThread }) => !isMainThread))
    assert.equal(pool.pending, 0)
  })

  it('of a small work rejects what waits when it is closed', async () => {
    const arena = new Arena()
    const pool = new ThreadPool(arena.share, 1, { inPlace: 'small' })
    const waiting = [1, 2, 3].map(() => pool.run(toldTask, { list: [] }))
    const settled = Promise.allSettled(waiting)
    await pool.close()
    assert.ok((await settled).every(({ status }) => status === 'rejected'))
    await assert.rejects(pool.run(toldTask, { list: [] }), /the thread pool is closed/)
  })
})
