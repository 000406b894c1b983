import type { TaskRow } from './audit-rows.ts'
import type { ChatReceipt } from './chat-cost.ts'
import type { SimEndpoint, SimModelAgent, SimPlan } from './sim-agents.ts'

// What people of a simulation have and have asked for, in plain lists.

export type SimKey = {
  id: string
  token: string
  scopes: string[]
  expiresAt: number | null
  isRevoked: boolean
  isReplaced: boolean
  /** The first of the keys that it took the place of. */
  countsAs: string
  spend: SimSpend | null
}
type NewKey = Pick<SimKey, 'id' | 'token' | 'scopes' | 'expiresAt'> & Partial<Pick<SimKey, 'countsAs' | 'spend'>>

export function newKey(of: NewKey): SimKey {
  return { countsAs: of.id, spend: null, ...of, isRevoked: false, isReplaced: false }
}

/** What may be spent in each period. */
export type SimSpend = { amount: number; reset: 'never' | 'day' | 'week' | 'month' }
/** A link of an invitation, which makes one account with that balance until it is used, revoked or too old. */
export type SimInvitation = {
  id: string
  token: string
  email: string
  credit: number
  expiresAt: number
  hasEnded: boolean
}
export type SimLogin = { token: string; createdAt: number; usedAt: number; hasEnded: boolean }

export type SimPerson = {
  userId: string
  email: string
  password: string
  /** Talks with models and runs tasks with connectors, and does nothing else. */
  isOfModels: boolean
  /** Their own servers, by conduct. */
  connectors: Map<string, string>
  /** Until when a failed task that had called a connector blocks others with connectors. */
  connectorsBlockedUntil: number
  /** What platform keys credited and did not take back. */
  platformCredited: number
  isSuspended: boolean
  /**
   * What came in less what went out, from what was asked for and never from the service's own rows; less than nothing where
   * a payment was taken back after it was spent. What there must be and what is owed follow from it and from what is held.
   */
  worth: number
  balance: number
  owed: number
  held: number
  /** A top-up has saved what it was paid with. */
  hasMethod: boolean
  /** When the balance is recharged; null where it is not. */
  recharge: { below: number; to: number; monthlyMax: number } | null
  /** The plan, by its name, and what may be spent on a day in its place. */
  plan: SimPlan | null
  spendPerDay: number | null
  /** When executions were accepted. */
  executions: number[]
  failures: number[]
  blockedAt: number
  blockSeconds: number
  blockedUntil: number
  keys: SimKey[]
  logins: SimLogin[]
  taskKeys: Map<string, { body: string; taskId: string; at: number }>
  chatKeys: Map<string, number>
  sessionKeys: Map<string, { body: string; sessionId: string; at: number }>
  creditKeys: Map<string, { amount: number; transactionId: string; balanceAfter: number }>
}

export function newPerson(
  who: Pick<SimPerson, 'userId' | 'email' | 'password'> & Partial<Pick<SimPerson, 'isOfModels'>>,
): SimPerson {
  return {
    isOfModels: false,
    ...who,
    connectors: new Map(),
    connectorsBlockedUntil: -Infinity,
    platformCredited: 0,
    isSuspended: false,
    worth: 0,
    balance: 0,
    owed: 0,
    held: 0,
    hasMethod: false,
    recharge: null,
    plan: null,
    spendPerDay: null,
    executions: [],
    failures: [],
    blockedAt: -Infinity,
    blockSeconds: 0,
    blockedUntil: -Infinity,
    keys: [],
    logins: [],
    taskKeys: new Map(),
    chatKeys: new Map(),
    sessionKeys: new Map(),
    creditKeys: new Map(),
  }
}

/** A request to create a task, by the number in its params. */
export type AskedTask = {
  n: number
  userId: string
  endpointId: SimEndpoint
  params: Record<string, unknown>
  tags: Record<string, string> | undefined
  key: string | null
  body: string
  gate: string | null
  /** The user's own server, and whether the run calls it. */
  tools?: { connectorId: string; calls: boolean }
  timeoutSeconds?: number
  /** In which windows it may count, by the credentials that it was sent with. */
  countedIn: Set<string>
}

export type SimTask = {
  id: string
  asked: AskedTask
  createdAt: number
  status: TaskRow['status']
  errorCode: string | null
  attempt: number
  /** A stop or a crash came while it was open: it may end as interrupted. */
  mayInterrupt: boolean
  /** It was at work when the service ended, and may not be run again. */
  mustEnd: boolean
  /** Its user has canceled it, and its end was not known by then. */
  isCanceled: boolean
}

export type SimSession = {
  id: string
  userId: string
  agentId: 'sim' | SimModelAgent
  metadata: Record<string, unknown>
  isCompleted: boolean
  isDeleted: boolean
  messageCount: number
  /** What its chats may cost, and what they were charged. */
  maxCost: number | null
  spent: number
  updatedAt: number
  activeAt: number
}

/** How the turn of a session may end, and what its reply and receipt say then. */
export type ExpectedTurn = {
  outcomes: ('finished' | 'truncated' | 'failed')[]
  receipt?: Partial<ChatReceipt>
  text?: string
  /** What the user said. */
  message?: string
  /** The chat's own cap. */
  maxCost?: number | null
}

/** A payment at the provider. */
export type ProviderState = {
  isPaid: boolean
  hasFailed: boolean
  hasExpired: boolean
  refunded: number
  disputes: Map<string, { withdrawn: number; reinstated: number }>
}

/** A top-up, in the state of its payment that the service has read last. */
export type SimTopup = ProviderState & {
  id: string
  userId: string
  amount: number
  createdAt: number
  /** Made by auto-recharge. */
  isAuto: boolean
  /** It saves what it is paid with. */
  saves: boolean
  /** The provider was asked for it by a process that did not live to hear the answer. */
  wasAsked: boolean
  /** Which state of the provider's history it is in, or an equal earlier one. */
  at: number
}

/** What is charged in a period of a limit, and when that was changed. */
/** `carried` is what was spent in its period by executions that count in other windows. */
export type SimWindow = { charged: number; carried?: number; changedAt: number }
export type SimSpent = { ownerId: string; startsAt: number; amount: number; createdAt: number }

/** A product's key, whose ceiling holds for what it credits in a day and for what it takes back, each on its own. */
export type SimPlatformKey = {
  token: string
  perDay: number | null
  day: number
  credited: number
  taken: number
}

/** A signed link to what a task was given or has returned. */
export type SimLink = { url: string; expiresAt: number; json: string }

/** What people may ask and what they have, in plain lists; it survives by `clone`, as a backup does. */
export type SimState = {
  people: SimPerson[]
  tasks: Map<string, SimTask>
  sessions: Map<string, SimSession>
  links: SimLink[]
  invitations: SimInvitation[]
  platformKeys: SimPlatformKey[]
  topups: Map<string, SimTopup>
  topupKeys: Map<string, { body: string; topupId: string; at: number }>
  /** By owner and beginning. */
  windows: Map<string, SimWindow>
  /** What executions were charged and given back, by their windows. */
  spent: SimSpent[]
  /** When client tokens expire. */
  clientTokens: Map<string, number>
}
