// A command over the ranks of a launcher: they join, agree on what they do, and end together. Rank 0 alone prints and writes. An
// error at any rank ends the job: rank 0 is told, puts it on record and says it, and all others are stopped. Where rank 0 does not
// listen, being deep in a loop, the rank says it itself.
import { setTimeout as delay } from 'node:timers/promises'
import { isEnding, UsageError } from '../errors.ts'
import { shareMachine } from '../machine-memory.ts'
import { agree, type Facts, ranksOnThisHost } from '../ranks/agree.ts'
import { type Communicator, unlessOthersFail } from '../ranks/communicator.ts'
import { noticeOf, RankFailure } from '../ranks/failure.ts'
import type { Launch } from '../ranks/launcher.ts'
import type { MpiCommunicator } from '../ranks/mpi.ts'
import { version } from '../version.ts'
import type { Command, OptionValues } from './command.ts'

/** Milliseconds that a rank waits before it says what went wrong: rank 0 speaks first, for all that failed in the same way, and the
 *  first one that speaks ends the job. */
const FIRST_TURN = 2000
const EACH_TURN = 100
const LAST_TURN = 5000
/** More milliseconds for rank 0 to hear of it, and to write its last records. */
const TO_HEAR = 3000

/** The job that this process is a part of, as far as it has come. */
export class Job {
  readonly launch: Launch
  #ranks: MpiCommunicator | undefined

  constructor(launch: Launch) {
    this.launch = launch
  }

  /** Joins the other ranks for a command. */
  async join(command: Command, given: string[], options: OptionValues): Promise<Communicator> {
    const { launcher, size } = this.launch
    if (!command.overRanks) {
      throw new UsageError(
        `spillway ${command.name} works in one process, and ${launcher} started ${size}`,
        'leave out the launcher, or say SPILLWAY_MPI=none if each process is to work alone',
      )
    }
    const { joinRanks } = await import('../ranks/join-ranks.ts')
    this.#ranks = await joinRanks(this.launch)
    const agreement = await agree(this.#ranks, factsOf(command, given, options))
    shareMachine(ranksOnThisHost(agreement, this.#ranks))
    return this.#ranks
  }

  /** Ends well, when all ranks do. */
  async end(): Promise<void> {
    if (!this.#ranks) return
    await unlessOthersFail(this.#ranks, this.#ranks.barrier())
    this.#ranks.end()
  }

  /** Ends all ranks, once `say` has said why, and who failed. */
  async fail(error: unknown, say: (who: string) => number): Promise<number> {
    const { rank } = this.launch
    const { rankName } = await import('../ranks/join-ranks.ts')
    const who = rankName(rank)
    if (rank > 0) {
      const notice = isEnding(error) ? undefined : noticeOf(error, who, process.env['SPILLWAY_DEBUG'] !== undefined)
      const isTold = notice !== undefined && this.#ranks?.tellFailure(notice)
      await delay(Math.min(FIRST_TURN + EACH_TURN * rank, LAST_TURN) + (isTold ? TO_HEAR : 0))
    }
    // The error of another rank says whose it is.
    const exitCode = say(error instanceof RankFailure ? '' : `${who}: `)
    this.#ranks?.abort(exitCode)
    return exitCode
  }
}

/** What all ranks have to be told alike. Data is compared where it is shared out. */
function factsOf(command: Command, given: string[], options: OptionValues): Facts {
  const facts: Facts = { 'the version of spillway': version, 'the command': command.name }
  for (const [name, value] of Object.entries(options)) facts[`--${name}`] = [value].flat().join(' ')
  facts['the arguments'] = given.join(' ')
  return facts
}
