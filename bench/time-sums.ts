// A program for ranks: times sums over them, and prints one line of JSON at rank 0. Used by the section simulate.
//
//   mpirun -n 2 node bench/time-sums.ts 1 1000000
import { joinRanks } from '../src/ranks/join-ranks.ts'
import { noticeLaunch } from '../src/ranks/launcher.ts'

/** Each length is summed for so long, and so often at least. */
const SECONDS = 0.5
const LEAST = 5

const launch = noticeLaunch()
if (!launch) throw new Error('start this with mpirun -n 2, or more ranks')
const ranks = await joinRanks(launch)
const timed: { numbers: number; seconds: number }[] = []
for (const numbers of process.argv.slice(2).map(Number)) {
  const values = new Float64Array(numbers)
  await ranks.sum(values)
  const all: number[] = []
  // Ranks have to make the same calls: rank 0 says when it is enough.
  const enough = new Float64Array(1)
  for (let spent = 0; enough[0] === 0; ) {
    await ranks.barrier()
    const began = performance.now()
    await ranks.sum(values)
    all.push((performance.now() - began) / 1000)
    spent += all.at(-1)!
    enough[0] = all.length >= LEAST && spent >= SECONDS ? 1 : 0
    await ranks.broadcast(enough)
  }
  // The one in the middle: the smallest would be a lucky one.
  timed.push({ numbers, seconds: all.sort((a, b) => a - b)[Math.floor(all.length / 2)] })
}
if (ranks.rank === 0) console.log(JSON.stringify(timed))
await ranks.barrier()
ranks.end()
