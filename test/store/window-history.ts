import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import type { Units } from '../../server/kernel/money.ts'
import { limitResets, type SpendLimit } from '../../server/store/limits/execution-limits.ts'
import { periodStart } from '../../server/store/limits/spend-period.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import { SimRandom } from '../sim/sim-random.ts'
import { agentError, type StoreWorld } from './store-world.ts'
import { draftTurn } from './window-calls.ts'

const hour = 3_600_000
const users = 3
const inWave = 250

type Sums = { charged: Units; held: Units }
type Open = { userId: string; id: string; windows: Sums[]; cost: Units; isMetered: boolean; isAtWork: boolean }
type Spender = { userId: string; isLimited: boolean; keys: { id: string; tokenHash: string }[] }

/**
 * A random, concurrent history of tasks and chats over days, with changing limits of keys and users. The windows must
 * match totals that are computed from the responses alone, and none may exceed its limit.
 */
export class WindowHistory {
  readonly #world: StoreWorld
  readonly #random: SimRandom
  readonly #spenders: Spender[] = []
  readonly #sums = new Map<string, Sums>()
  readonly #tasks: Open[] = []
  readonly #turns: Open[] = []
  /** Number of steps that changed something, by kind. */
  readonly done: Record<string, number> = {}

  constructor(world: StoreWorld, seed: number) {
    this.#world = world
    this.#random = new SimRandom(seed)
  }

  async run(steps: number): Promise<void> {
    for (let user = 0; user < users; user++) await this.#addSpender(user)
    for (let left = steps; left > 0; left -= inWave) {
      await Promise.all(Array.from({ length: Math.min(inWave, left) }, () => this.#step()))
      await this.#check()
      if (this.#random.chance(0.1)) this.#world.clock.advance(this.#random.between(1, 30) * hour)
    }
    for (const task of this.#tasks.splice(0)) await this.#endTask(task)
    for (const turn of this.#turns.splice(0)) await this.#settle(turn)
    await this.#check()
    for (const { held } of this.#sums.values()) expect(held).toBe(0)
  }

  async #addSpender(user: number): Promise<void> {
    const { store } = this.#world
    const userId = await this.#world.createUser(1_000_000_000)
    const keys = []
    for (const [at, spendReset] of limitResets.entries()) {
      const tokenHash = `history${user}${at}`.padStart(64, '0')
      const draft = { userId, name: 'a', hint: 'abcd', scopes: ['execute' as const], expiresAt: null, tokenHash }
      const key = await store.createKey({ ...draft, spendLimit: this.#limit(), spendReset })
      keys.push({ id: key.id, tokenHash })
    }
    // A user has a daily limit for the whole run or not at all. Otherwise responses would not show which windows an
    // execution counts in.
    const isLimited = user > 0
    if (isLimited) await this.#setDay(userId)
    this.#spenders.push({ userId, keys, isLimited })
  }

  /** Returns a limit that allows only a few tasks, so that limits are often reached. */
  #limit(): Units {
    return this.#random.between(0, 3000)
  }

  async #step(): Promise<void> {
    const kind = this.#random.weighted({ admit: 30, end: 25, open: 12, grow: 12, settle: 11, change: 4, user: 2 })
    const spender = this.#random.pick(this.#spenders)
    if (kind === 'admit') await this.#admit(spender)
    else if (kind === 'open') await this.#open(spender)
    else if (kind === 'end' && this.#tasks.length > 0) await this.#endTask(this.#take(this.#tasks))
    else if (kind === 'grow' && this.#turns.length > 0) await this.#grow(this.#take(this.#turns))
    else if (kind === 'settle' && this.#turns.length > 0) await this.#settle(this.#take(this.#turns))
    else if (kind === 'change') await this.#changeKey(spender)
    else if (kind === 'user') await this.#changeUser(spender)
  }

  /** Removes an item, so that no concurrent step uses it until it is put back. */
  #take(open: Open[]): Open {
    return open.splice(this.#random.between(0, open.length - 1), 1)[0]!
  }

  async #credential({ keys }: Spender) {
    if (this.#random.chance(0.2)) return null
    const { tokenHash } = this.#random.pick(keys)
    return must(await this.#world.store.findKey(tokenHash), 'the key exists').limits
  }

  async #admit(spender: Spender): Promise<void> {
    const { clock, store } = this.#world
    const limits = await this.#credential(spender)
    const cost = this.#random.between(0, 300)
    const isMetered = this.#random.chance(0.3) && cost > 0
    const draft = this.#world.draft(spender.userId, { cost, limits, ...(isMetered && { meters: { unit: 1 } }) })
    const now = clock.now()
    const result = await store.admitTask(draft)
    this.#note(`admit ${result.outcome === 'refused' ? result.reason : result.outcome}`)
    if (result.outcome !== 'accepted') return
    const windows = cost === 0 ? [] : this.#windows(spender, { spend: limits?.spend ?? null, now })
    for (const window of windows) window.charged += cost
    this.#tasks.push({ userId: spender.userId, id: draft.taskId, windows, cost, isMetered, isAtWork: false })
  }

  async #endTask(task: Open): Promise<void> {
    const { store } = this.#world
    const { id: taskId, userId } = task
    let givenBack = task.cost
    if (this.#random.chance(0.3)) {
      await store.cancelTask({ userId, taskId, error: agentError, mayStopWork: true })
    } else {
      const claimed = must(await store.claimTask(taskId), 'a queued task')
      if (typeof claimed === 'string') throw new Error('nobody here has a limit of tasks at work')
      const { attempt } = claimed
      if (this.#random.chance(0.4)) await store.failTask({ taskId, attempt, error: agentError, countsAsAbuse: false })
      else {
        const used = this.#random.between(0, task.cost)
        givenBack = task.isMetered ? task.cost - used : 0
        const response = { text: '{}', payloadId: null }
        await store.completeTask({ taskId, attempt, response, ...(task.isMetered && { usage: { unit: used } }) })
      }
    }
    this.#note('end')
    for (const window of task.windows) window.charged -= givenBack
  }

  async #open(spender: Spender): Promise<void> {
    const { clock, store } = this.#world
    const limits = await this.#credential(spender)
    const required = this.#random.between(0, 50)
    const turn = await draftTurn(this.#world, spender.userId, { required, hold: 4 * required, limits })
    const now = clock.now()
    const result = await store.openTurn(turn)
    this.#note(`open ${result.outcome === 'refused' ? result.reason : result.outcome}`)
    if (result.outcome !== 'opened') return
    const windows = this.#windows(spender, { spend: limits?.spend ?? null, now })
    for (const window of windows) window.held += result.held
    const { turnId: id, userId } = turn
    this.#turns.push({ userId, id, windows, cost: result.held, isMetered: false, isAtWork: true })
  }

  async #grow(turn: Open): Promise<void> {
    const by = this.#random.between(1, 200)
    const grown = await this.#world.store.growHold({ turnId: turn.id, by, least: this.#random.between(1, by) })
    this.#note(`grow ${grown.outcome === 'refused' ? grown.reason : grown.outcome}`)
    if (grown.outcome === 'held') {
      for (const window of turn.windows) window.held += grown.held - turn.cost
      turn.cost = grown.held
    }
    this.#turns.push(turn)
  }

  async #settle(turn: Open): Promise<void> {
    // Some providers report ten times the usage that was allowed.
    const cost = this.#random.between(0, turn.cost) * (this.#random.chance(0.2) ? 10 : 1)
    const settled = await this.#world.store.settleTurn({
      turnId: turn.id,
      outcome: 'truncated',
      cost,
      breakdown: nothingUsed,
      exchange: null,
    })
    this.#note(settled!.writtenOff > 0 ? 'settle beyond' : 'settle')
    for (const window of turn.windows) {
      window.held -= turn.cost
      window.charged += settled!.charged
    }
  }

  async #changeKey({ keys, userId }: Spender): Promise<void> {
    await this.#world.store.updateKey({
      userId,
      keyId: this.#random.pick(keys).id,
      changes: { spendLimit: this.#limit() },
    })
    this.#note('change')
  }

  async #changeUser({ isLimited, userId }: Spender): Promise<void> {
    if (!isLimited) return
    await this.#setDay(userId)
    this.#note('user')
  }

  async #setDay(userId: string): Promise<void> {
    await this.#world.store.changeAccountLimits({ userId, changes: { spendPerDay: 2 * this.#limit() } })
  }

  #windows({ isLimited, userId }: Spender, of: { spend: SpendLimit | null; now: number }): Sums[] {
    const owners = isLimited ? [{ ownerId: userId, reset: 'day' as const }] : []
    return [...(of.spend ? [of.spend] : []), ...owners].map(({ ownerId, reset }) => {
      const name = `${ownerId} ${periodStart(reset, of.now)}`
      const known = this.#sums.get(name) ?? { charged: 0, held: 0 }
      this.#sums.set(name, known)
      return known
    })
  }

  /** Checks the current periods. The ledger check covers past ones. */
  async #check(): Promise<void> {
    const { clock, store } = this.#world
    for (const { keys, userId } of this.#spenders) {
      const limits: SpendLimit[] = [{ ownerId: userId, amount: 0, reset: 'day' }]
      for (const { tokenHash } of keys) limits.push((await store.findKey(tokenHash))!.limits!.spend!)
      for (const state of await store.spendStates(limits)) {
        const sums = this.#sums.get(`${state.ownerId} ${periodStart(state.reset, clock.now())}`)
        const { charged, held } = state
        expect({ charged, held }, state.ownerId).toEqual(sums ?? { charged: 0, held: 0 })
      }
    }
  }

  #note(what: string): void {
    this.done[what] = (this.done[what] ?? 0) + 1
  }
}
