import { scopes } from '../../server/store/access/key-types.ts'
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { draftKey } from '../../server/auth/keys/manage-keys.ts'
import { newSecretToken } from '../../server/auth/logins/login-token.ts'
import type { Store } from '../../server/store/store.ts'
import type { ChatReader } from '../support/chat-reader.ts'
import { checkText } from './answer-text.ts'
import { nothingSeen, RowAudit, type SeenRows } from './row-audit.ts'
import type { MachineTime } from './sim-clock.ts'
import { Checks, Violation } from './sim-checks.ts'
import { SimClient, type SimAnswer, type SimCredential } from './sim-client.ts'
import { gates, type GateEnd } from './sim-gates.ts'
import { TasksAtWork } from './limit-model.ts'
import type { SimPlan } from './sim-agents.ts'
import type { SimEngine } from './sim-engine.ts'
import { simConcurrency, type SimHost } from './sim-host.ts'
import { SimModel } from './sim-model.ts'
import { newKey, newPerson, type SimKey, type SimLogin, type SimPerson, type SimState } from './sim-state.ts'
import { BillAudit } from './bill-audit.ts'
import { SimPayments } from './sim-payments.ts'
import { providerVariable, SimProvider } from './sim-provider.ts'
import { SimRandom } from './sim-random.ts'
import { SimToolServer } from './sim-tool-server.ts'
import { isOpen } from './task-model.ts'

const traceSteps = 30
const settleMs = 10_000
/**
 * Minimum number of polls before `quiesce` gives up. The services run in this thread and advance only one query per
 * poll.
 */
const looksMin = 2000
const peopleCount = 5
const plansAtFirst: Record<number, SimPlan> = { 1: 'daily', 2: 'narrow' }
/** Two additional people chat with models: one can afford anything, the other cannot. */
const modelPeopleCount = 2
export const startOfTime = Date.UTC(2026, 0, 15, 12)

/** A chat with an agent or model provider that waits at a gate. */
export type HeldChat = {
  reader: ChatReader
  gate: string
  person: SimPerson
  sessionId: string
  readLines: number
  node: number
  /** Id of the turn, if it continues without its reader. */
  detached?: string
}
type SimNode = { host: SimHost; client: SimClient }

export type Backup = { folder: string; state: SimState; seen: SeenRows }

/** A password and its hash. All worlds share them to save time. */
export type KnownPassword = { password: string; hash: string }

/** One database, its service on one or more nodes, the model, and everything that the steps do with them. */
export class SimWorld {
  readonly seed: number
  readonly checks = new Checks()
  readonly model: SimModel
  readonly time: MachineTime
  readonly operations: Record<string, number> = {}
  readonly refusals: Record<string, number> = {}
  readonly trace: string[] = []
  readonly chats = new Map<string, HeldChat>()
  readonly engine: SimEngine
  readonly #nodes: SimNode[] = []
  audit!: RowAudit
  provider!: SimProvider
  toolServer!: SimToolServer
  bills!: BillAudit
  payments!: SimPayments
  /** Amount written off before the last restart, which resets the service's metrics. */
  writtenOffBefore = 0
  random: SimRandom
  admin!: { userId: string; token: string }
  /** Password of all people, because hashing one for each person would take most of the run's time. */
  password = ''
  backup: Backup | undefined
  restarts = 0
  crashes = 0
  restores = 0
  clockMoves = 0
  #tasksAtWork: TasksAtWork
  #numbers = 0
  #notes = 0

  constructor(seed: number, { engine, time }: { engine: SimEngine; time: MachineTime }) {
    this.seed = seed
    this.time = time
    this.engine = engine
    this.model = new SimModel(this.checks, { claimsTakeTime: engine.name === 'PostgreSQL' })
    this.random = new SimRandom(seed)
    this.#tasksAtWork = new TasksAtWork(this.checks)
  }

  get now(): number {
    return this.host.now()
  }

  at(node: number): SimNode {
    return this.#nodes[node]!
  }

  /** The first node, used for state that all nodes share. */
  get host(): SimHost {
    return this.at(0).host
  }

  get origin(): string {
    return this.host.origin
  }

  anyNode(): number {
    return this.engine.nodes === 1 ? 0 : this.random.between(0, this.engine.nodes - 1)
  }

  get state(): SimState {
    return this.model.state
  }

  nextNumber(): number {
    return ++this.#numbers
  }

  note(text: string): void {
    this.trace.push(`${++this.#notes}: ${text}`.slice(0, 400))
    if (this.trace.length > traceSteps * 4) this.trace.splice(0, traceSteps * 3)
  }

  lastSteps(): string[] {
    return this.trace.slice(-traceSteps)
  }

  did(kind: string, count: number): void {
    if (count > 0) this.operations[kind] = (this.operations[kind] ?? 0) + count
  }

  async open(known: KnownPassword): Promise<void> {
    this.password = known.password
    this.provider = await SimProvider.start()
    this.toolServer = await SimToolServer.start()
    this.bills = new BillAudit(this.provider, this.checks)
    this.payments = await SimPayments.start(this)
    this.model.chargesOf = (topupId) => this.payments.chargesOf(topupId)
    this.model.historyOf = (topupId) => this.payments.historyOf(topupId)
    this.model.isMethodKept = (topupId) => this.payments.isMethodKept(topupId)
    process.env[providerVariable] = this.provider.url
    const dataDir = await this.engine.newPlace()
    await this.run(dataDir, { nodes: this.allNodes(), seen: nothingSeen() })
    await this.beside(async (store) => {
      for (let n = 0; n <= peopleCount + modelPeopleCount; n++) {
        const isAdmin = n === 0
        const email = isAdmin ? 'admin@example.com' : `person-${n}@example.com`
        const created = await store.createUser({ email, passwordHash: known.hash, isAdmin })
        if (created.outcome === 'refused') throw new Error(`${email} exists`)
        const { userId } = created
        if (isAdmin) this.admin = { userId, token: '' }
        else await this.#addPerson(store, { userId, email, password: known.password, isOfModels: n > peopleCount })
        const plan = plansAtFirst[n] ?? null
        if (plan === null) continue
        await store.changeAccountLimits({ userId, plan, changes: {} })
        this.model.person(userId).plan = plan
      }
    })
    await this.quiesce()
  }

  async #addPerson(store: Store, who: Parameters<typeof newPerson>[0]): Promise<void> {
    const { token, key } = draftKey({ userId: who.userId, name: 'first', scopes: [...scopes], expiresAt: null })
    const { id } = await store.createKey(key)
    const person = newPerson(who)
    person.keys.push(newKey({ id, token, scopes: [...scopes], expiresAt: null }))
    this.state.people.push(person)
  }

  allNodes(): number[] {
    return Array.from({ length: this.engine.nodes }, (_, node) => node)
  }

  /** Starts nodes on a data directory, which must still contain every row in `seen`. */
  async run(dataDir: string, { nodes, seen }: { nodes: readonly number[]; seen: SeenRows }): Promise<void> {
    const { time } = this
    await Promise.all(
      nodes.map(async (node) => {
        const host = await this.engine.start({ dataDir, time, node })
        this.#nodes[node] = { host, client: new SimClient(host) }
        // A new process does not know which gates were opened before.
        if (host.store) return
        for (const [name, end] of this.model.gateEnds) await host.openGate(name, end)
      }),
    )
    this.audit = new RowAudit(this.engine.openAudit(dataDir), seen, this.checks)
    this.#tasksAtWork = new TasksAtWork(this.checks)
  }

  /** Uses the store on another connection, like a CLI command next to a running server. */
  async beside<Result>(work: (store: Store) => Promise<Result>): Promise<Result> {
    const store = await this.engine.openBeside(this.host.dataDir, { now: () => this.now })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }

  async send(of: Parameters<SimClient['send']>[0] & { kind: string; mayBeBusy?: () => boolean }): Promise<SimAnswer> {
    const { client } = this.at(this.anyNode())
    const answer = await client.send(of)
    const { isDown } = client
    const { kind, method = 'GET', path } = of
    if (answer.status >= 400) this.refused(kind, answer)
    if (answer.status === 0) this.checks.that(isDown, `${method} ${path} was not answered`)
    else
      this.checks.that(
        answer.status < 500 || (answer.status === 503 && (isDown || of.mayBeBusy?.() === true)),
        () => `${method} ${path} was answered ${answer.text}`,
      )
    checkText(this.checks, { kind, text: answer.text, what: `${method} ${path}`, state: this.state })
    this.note(
      `${kind} ${method} ${path} ${JSON.stringify(of.body ?? '').slice(0, 120)} → ${answer.status} ${answer.status >= 400 ? answer.text.slice(0, 120) : ''}`,
    )
    return answer
  }

  refused(kind: string, { body, status }: Pick<SimAnswer, 'status' | 'body'>): void {
    const reason = (body as { error?: string } | undefined)?.error ?? ''
    const name = `${kind} ${status} ${reason}`.trim()
    this.refusals[name] = (this.refusals[name] ?? 0) + 1
  }

  /** Returns a credential that should be valid for this person, and its key in the model. */
  credentialOf(person: SimPerson, { prefersLogin = false } = {}): { credential: SimCredential; key: SimKey | null } {
    const keys = person.keys.filter((key) => key.scopes.length === scopes.length)
    const live = keys.filter(({ expiresAt, isRevoked }) => !isRevoked && (expiresAt === null || expiresAt > this.now))
    const logins = person.logins.filter((login) => this.#isFresh(login))
    if (logins.length > 0 && this.random.chance(prefersLogin ? 0.95 : 0.3)) {
      const login = this.random.pick(logins)
      login.usedAt = this.now
      return { credential: { kind: 'login', token: login.token }, key: null }
    }
    const key = this.random.pick(live.length > 0 && this.random.chance(0.95) ? live : keys)
    return { credential: { kind: 'key', token: key.token }, key }
  }

  /**
   * Whether the login certainly works. An older one may have expired, because a stop can lose the time of its last use.
   */
  #isFresh({ createdAt, hasEnded }: SimLogin): boolean {
    return !hasEnded && this.now - createdAt < 6 * 86_400_000
  }

  async adminCredential(): Promise<SimCredential> {
    const credential: SimCredential = { kind: 'login', token: this.admin.token }
    const { client } = this.at(this.anyNode())
    const answer = this.admin.token === '' ? { status: 401 } : await client.send({ path: '/api/account', credential })
    if (answer.status !== 401) return credential
    const { token, tokenHash } = newSecretToken()
    const login = {
      userId: this.admin.userId,
      tokenHash,
      method: 'password',
      provider: null,
      userAgent: null,
      forget: null,
    } as const
    await this.beside(async (store) =>
      this.checks.that((await store.createLogin(login)) !== undefined, 'an admin may log in'),
    )
    this.admin.token = token
    return { kind: 'login', token }
  }

  person(): SimPerson {
    return this.random.pick(this.state.people.filter(({ isOfModels }) => !isOfModels))
  }

  async openGate(name: string, end: GateEnd): Promise<void> {
    this.model.gateEnds.set(name, end)
    // The model provider and its gates are in this process, even if the service is not.
    gates.open(name, end)
    await this.host.openGate(name, end)
  }

  refresh(): void {
    this.model.timeIs(this.now)
    this.model.take(this.audit.refresh([...this.model.refreshing.keys()], this.model))
    this.#tasksAtWork.areNow(this.state.people, this.audit.seen)
    // A crashing node logs the connections that it loses.
    const alive = this.#nodes.filter(({ client }) => !client.isKilled)
    const faults = alive.flatMap(({ host }) => host.faults())
    this.checks.that(faults.length === 0, () => `the service logged a fault: ${faults.join('; ')}`)
  }

  /** Waits until everything in progress is at a gate, and runs the checks while it waits. */
  async quiesce(withinMs = settleMs): Promise<void> {
    const until = performance.now() + withinMs
    for (let looks = 1; ; looks++) {
      this.refresh()
      const underWay = this.#underWay()
      if (underWay === undefined) return
      if (performance.now() > until && looks >= looksMin) {
        throw new Violation(`${underWay} does not come to its end, in ${looks} looks`)
      }
      await delay(1)
    }
  }

  #underWay(): string | undefined {
    const { openTasks, openTurns, tasks, turns } = this.audit.seen
    const open = [...openTasks].map((id) => ({ row: tasks.get(id)!, task: this.state.tasks.get(id)! }))
    const working = open.filter(({ row }) => row.status === 'processing' && row.queued === 0)
    for (const { row, task } of working) {
      const { gate } = task.asked
      // A task whose lease no node holds still has to be settled.
      const waits = gate !== null && !this.model.gateEnds.has(gate) && this.engine.nodeOf(row, this.now) !== undefined
      if (task.mustEnd || !waits) return `task ${task.id}`
    }
    const waiting = open.find(({ row, task }) => {
      const mayBegin = row.status === 'processing' || !this.isAtLimit(this.model.person(task.asked.userId))
      return row.queued === 1 && mayBegin
    })
    if (waiting && working.length < simConcurrency * this.engine.nodes)
      return `the queued task ${waiting.task.id} (leased until ${waiting.row.lease_until ?? 'never'}) at ${this.now}`
    for (const id of openTurns) {
      const { session_id: sessionId } = turns.get(id)!
      if (!this.chats.has(sessionId)) return `turn ${id} of ${sessionId}`
    }
    return undefined
  }

  /** Whether the person has as many running tasks as the plan allows. */
  isAtLimit(person: SimPerson): boolean {
    return this.#tasksAtWork.isAtLimit(person)
  }

  /** Checks the session's row against the model. */
  checkSessionRow(sessionId: string): void {
    const session = this.state.sessions.get(sessionId)
    if (!session) return
    this.audit.checkSession(sessionId)
    const row = this.audit.reader.session(sessionId)
    this.checks.same(row === undefined, session.isDeleted, `session ${sessionId} is gone`)
    if (!row) return
    const isOpen = this.chats.has(sessionId)
    this.checks.same(
      [
        row.is_completed === 1,
        row.message_count,
        row.updated_at,
        row.active_at,
        row.open_turn_id !== null,
        row.max_cost,
        row.spent,
        JSON.parse(row.metadata),
      ],
      [
        session.isCompleted,
        session.messageCount,
        session.updatedAt,
        session.activeAt,
        isOpen,
        session.maxCost,
        session.spent,
        session.metadata,
      ],
      `session ${sessionId}`,
    )
  }

  openTasks(): string[] {
    return [...this.state.tasks.values()].filter(({ status }) => isOpen(status)).map(({ id }) => id)
  }

  async close(): Promise<void> {
    for (const { reader } of this.chats.values()) reader.leave()
    this.chats.clear()
    for (const { client } of this.#nodes) client.cut()
    await Promise.all(this.#nodes.map(({ host }) => host.stop(true)))
    await Promise.all([this.provider.stop(), this.toolServer.stop(), this.payments.stop()])
    this.closeAudit()
    await this.engine.removePlace(this.host.dataDir)
    if (this.backup) this.dropBackup()
  }

  /** Closes the audit on SQLite, where it belongs to one data directory. On PostgreSQL the database stays the same. */
  closeAudit(): void {
    if (this.engine.name === 'SQLite') this.audit.close()
  }

  dropBackup(): void {
    if (!this.backup) return
    rmSync(this.backup.folder, { recursive: true, force: true })
    this.backup = undefined
  }
}
