// The model of what ranks take: sums over them, the slowest of many, shared cores, and predictions that are known by hand.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  bytesSent,
  expectedLargest,
  type Network,
  type Nodes,
  networkFrom,
  normalShare,
  passRates,
  predict,
  type Rates,
  sharedCores,
  slowest,
  spreadOf,
  sumSeconds,
  type Work,
} from '../../bench/cluster-model.ts'
import { planRows } from '../../bench/sections/simulate.ts'

const near = (found: number, expected: number, most = 1e-9): void =>
  assert.ok(Math.abs(found - expected) <= most * Math.max(1, Math.abs(expected)), `${found}, expected ${expected}`)

const network: Network = { latency: 1e-5, bandwidth: 1e9 }
const rates: Rates = {
  ...{ startSeconds: 0.5, joinSeconds: 0.25, parseBytesPerSecond: 1e8, secondsPerNonzero: 2e-9, secondsPerWeight: 0 },
  ...{ contention: 1.2, readContention: 1.1, jitter: 0 },
}
const work: Work = {
  rows: 1e6,
  nonzeros: 1e8,
  textBytes: 1e9,
  weights: 1e6,
  passes: 10,
  vectorsPerPass: 2,
  bytesPerWeight: 232,
}
const alone: Nodes = {
  ...{ count: 1, cores: 2, ranksPerNode: 1, threadsPerRank: 1, diskBytesPerSecond: Number.POSITIVE_INFINITY },
}

describe('a sum over ranks', () => {
  it('sends nearly twice what is summed, whatever the number of ranks', () => {
    for (const algorithm of ['ring', 'halving'] as const) {
      assert.equal(bytesSent(1e6, 1, algorithm), 0)
      assert.equal(bytesSent(1e6, 2, algorithm), 8e6)
      assert.equal(bytesSent(1e6, 4, algorithm), 1.5 * 8e6)
    }
    near(bytesSent(1e6, 1000, 'ring'), 2 * 8e6 * 0.999)
    // As Open MPI was seen to send it.
    near(bytesSent(1e6, 3, 'halving'), 2.5 * 8e6)
  })

  it('has a latency that grows with ranks in a ring, and with their logarithm by halving', () => {
    assert.equal(sumSeconds(1, 1, network, 'ring'), 0)
    near(sumSeconds(1, 4, network, 'ring'), 6e-5 + (1.5 * 8) / 1e9)
    near(sumSeconds(1, 1024, network, 'halving'), 20e-5, 1e-6)
    near(sumSeconds(1, 1000, network, 'halving'), 21e-5, 1e-6)
    // Two calls of 4 MiB have twice the latency.
    const endless = { latency: 1e-5, bandwidth: Number.POSITIVE_INFINITY }
    near(sumSeconds(2 ** 20, 2, endless, 'ring'), 4e-5)
  })

  it('tells latency and bandwidth when two sums are timed', () => {
    const timed = (numbers: number) => ({ numbers, seconds: sumSeconds(numbers, 2, network, 'ring') })
    const found = networkFrom(timed(1), timed(5e6), 2, 'ring')
    near(found.latency, network.latency, 1e-2)
    near(found.bandwidth, network.bandwidth, 1e-2)
    const noise = networkFrom({ numbers: 1, seconds: 1 }, { numbers: 5e6, seconds: 0.5 }, 2, 'ring')
    assert.ok(noise.bandwidth > 0 && Number.isFinite(noise.bandwidth))
  })
})

describe('the slowest of many ranks', () => {
  it('is what tables of a normal distribution say', () => {
    near(normalShare(0), 0.5, 1e-6)
    near(normalShare(1.96), 0.9750021, 1e-6)
    near(normalShare(-1), 0.1586553, 1e-6)
    near(expectedLargest(1), 0, 1e-6)
    near(expectedLargest(2), 1 / Math.sqrt(Math.PI), 1e-4)
    near(expectedLargest(10), 1.53875, 1e-3)
    near(expectedLargest(1000), 3.24144, 1e-3)
    near(slowest(2, 0.1), 1.0564, 1e-3)
  })

  it('shares cores and memory with others', () => {
    assert.equal(sharedCores(1, 2, 1.2), 1)
    assert.equal(sharedCores(2, 2, 1.2), 1.2)
    assert.equal(sharedCores(4, 2, 1.2), 2.4)
    assert.equal(sharedCores(3, 1, 1.2), 3)
    near(sharedCores(2, 3, 1.2), 1.1)
    const { mean, deviation } = spreadOf([1, 2, 3])
    assert.deepEqual([mean, deviation], [2, 0.5])
    assert.equal(spreadOf([4]).deviation, 0)
  })
})

describe('a prediction', () => {
  it('gives back what was measured on one rank', () => {
    const { start, read, sweeps, sums, total, sentPerPass } = predict(work, rates, alone, network)
    assert.deepEqual([start, read, sums, sentPerPass], [0.5, 10, 0, 0])
    near(sweeps, 2)
    near(total, 12.5)
  })

  it('halves the work of two ranks on two cores, but for what they share', () => {
    const two = predict(work, rates, { ...alone, ranksPerNode: 2 }, network)
    near(two.read, (10 / 2) * 1.1)
    near(two.sweeps, 1.2)
    near(two.sums, 10 * 2 * sumSeconds(1e6, 2, network, 'ring'))
    assert.equal(two.sentPerPass, 16e6)
    // Four ranks have no more cores.
    const four = predict(work, rates, { ...alone, ranksPerNode: 4 }, network)
    near(four.sweeps, 1.2)
    assert.deepEqual([two.start, four.start], [0.75, 1.5])
  })

  it('shares out nonzeros, and not what each rank does for all weights', () => {
    const two = predict(
      work,
      { ...rates, contention: 1, secondsPerWeight: 3e-8 },
      { ...alone, ranksPerNode: 2 },
      network,
    )
    near(two.sweeps, 10 * (1e8 * 1e-9 + 1e6 * 3e-8))
    const four = predict(
      work,
      { ...rates, contention: 1, secondsPerWeight: 3e-8 },
      { ...alone, ranksPerNode: 4 },
      network,
    )
    near(four.sweeps, 10 * (1e8 * 1e-9 + 2 * 1e6 * 3e-8))
  })

  it('goes by rates that explain a pass over all data and one over a part', () => {
    const pass = (nonzeros: number, weights: number, a = 5e-9, b = 4e-8) => {
      return { seconds: a * nonzeros + b * weights, nonzeros, weights }
    }
    const found = passRates(pass(1e8, 1e6), pass(2.5e7, 6e5))
    near(found.secondsPerNonzero, 5e-9)
    near(found.secondsPerWeight, 4e-8)
    // A part that takes less than its share, and one that tells nothing.
    const all = pass(1e8, 1e6, 5e-9, 0)
    for (const part of [{ ...pass(2.5e7, 6e5), seconds: 0.1 }, pass(2.5e7, 2.5e5)])
      assert.deepEqual(passRates(all, part), { secondsPerNonzero: 5e-9, secondsPerWeight: 0 })
    const slow = passRates(all, { ...pass(2.5e7, 6e5), seconds: 0.5 })
    assert.deepEqual(slow, { secondsPerNonzero: 0, secondsPerWeight: 5e-7 })
  })

  it('takes the disk where that is slower, and all threads of a rank', () => {
    near(predict(work, rates, { ...alone, diskBytesPerSecond: 5e7 }, network).read, 20)
    near(predict(work, rates, { ...alone, threadsPerRank: 2 }, network).sweeps, 1.2)
  })

  it('says whether rows fit into a process', () => {
    const large = { ...work, nonzeros: 6e8 }
    assert.equal(predict(large, rates, alone, network).fits, false)
    assert.equal(predict(large, rates, { ...alone, count: 2 }, network).fits, true)
    near(predict(work, rates, alone, network).rowBytes, 8e8 + 24e6)
  })
})

describe('the plan for a thousand nodes', () => {
  const ofTwoCores = (solver: string, bytesPerWeight: number) =>
    planRows(solver, { rates, work: { ...work, bytesPerWeight } }, { latency: 50e-6, bandwidth: 1.25e9 }, 2)
  const rows = ofTwoCores('lbfgs', 232)

  it('goes up to a thousand nodes, and says whether rows fit', () => {
    const last = rows.find(row => row['nodes'] === 1000)!
    assert.deepEqual([last['ranks'], last['weights'], last['fits']], [2000, 2 ** 20, true])
    assert.equal(rows[0]['fits'], false)
    // 17 billion rows of 39 nonzeros, 8 bytes each and 24 a row, over 2,000 ranks.
    near(Number(last['gibibytes']), (17e9 * (39 * 8 + 24)) / 2000 / 2 ** 30)
    near(Number(last['sent']), 2 * 2 * 8 * 2 ** 20 * (1999 / 2000))
    assert.equal(ofTwoCores('newton', 72).at(-1)!['fits'], true)
    assert.equal(ofTwoCores('newton', 232).at(-1)!['fits'], false)
    assert.deepEqual(ofTwoCores('dual', 16), [])
  })

  it('has times that fall with nodes where work is shared out, and not where sums are sent', () => {
    for (const [k, row] of rows.slice(1).entries()) {
      for (const shared of ['read', 'sweeps']) assert.ok(Number(row[shared]) < Number(rows[k][shared]))
      assert.ok(Number(row['ring']) >= Number(rows[k]['ring']))
    }
    const last = rows.at(-1)!
    assert.ok(Number(last['halving']) < 0.1 * Number(last['ring']))
  })
})
