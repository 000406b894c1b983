import type { TaskRow } from './audit-rows.ts'
import type { ChatReceipt } from './chat-cost.ts'
import type { SimEndpoint, SimModelAgent, SimPlan } from './sim-agents.ts'

// State of a simulation: the people, what they own and what they requested, in plain lists.

export type SimKey = {
  id: string
  token: string
  scopes: string[]
  expiresAt: number | null
  isRevoked: boolean
  isReplaced: boolean
  /** Id of the first key in the rotation chain. */
  countsAs: string
  spend: SimSpend | null
}
type NewKey = Pick<SimKey, 'id' | 'token' | 'scopes' | 'expiresAt'> & Partial<Pick<SimKey, 'countsAs' | 'spend'>>

export function newKey(of: NewKey): SimKey {
  return { countsAs: of.id, spend: null, ...of, isRevoked: false, isReplaced: false }
}

export type SimSpend = { amount: number; reset: 'never' | 'day' | 'week' | 'month' }
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
  /** Whether this person only chats with models and runs tasks with connectors. */
  isOfModels: boolean
  /** Ids of the person's own connectors, by the behavior of their servers. */
  connectors: Map<string, string>
  /**
   * End of the block that starts when a task fails after it called a connector. Until then the service rejects tasks
   * with connectors.
   */
  connectorsBlockedUntil: number
  /** Amount credited by platform keys and not debited again. */
  platformCredited: number
  isSuspended: boolean
  /**
   * Income minus expenses, computed from the requests and never from the service's rows. Negative if a payment was
   * reversed after the user had spent it. Balance and debt follow from this and the held amount.
   */
  worth: number
  balance: number
  owed: number
  held: number
  /** Whether a top-up has saved its payment method. */
  hasMethod: boolean
  /** Auto-recharge settings; null if disabled. */
  recharge: { below: number; to: number; monthlyMax: number } | null
  /** The plan's name, and a daily limit that overrides it. */
  plan: SimPlan | null
  spendPerDay: number | null
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

/** A task request, identified by the number in its params. */
export type AskedTask = {
  n: number
  userId: string
  endpointId: SimEndpoint
  params: Record<string, unknown>
  tags: Record<string, string> | undefined
  key: string | null
  body: string
  gate: string | null
  /** A connector of the user, and whether the run calls it. */
  tools?: { connectorId: string; calls: boolean }
  timeoutSeconds?: number
  /** Sets of windows that the task may count in, one for each credential used to request it. */
  countedIn: Set<string>
}

export type SimTask = {
  id: string
  asked: AskedTask
  createdAt: number
  status: TaskRow['status']
  errorCode: string | null
  attempt: number
  /** Whether the task was open during a shutdown or crash, so that it may end as interrupted. */
  mayInterrupt: boolean
  /** Whether the task was running when the service crashed and has no attempts left. */
  mustEnd: boolean
  /** Whether its user canceled the task before the outcome was known. */
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
  /** Budget of the session, and the charges of its turns. */
  maxCost: number | null
  spent: number
  updatedAt: number
  activeAt: number
}

/** Possible outcomes of a session's turn, and its expected reply and receipt. */
export type ExpectedTurn = {
  outcomes: ('finished' | 'truncated' | 'failed')[]
  receipt?: Partial<ChatReceipt>
  text?: string
  message?: string
  maxCost?: number | null
}

export type ProviderState = {
  isPaid: boolean
  hasFailed: boolean
  hasExpired: boolean
  refunded: number
  disputes: Map<string, { withdrawn: number; reinstated: number }>
}

/** A top-up, in the payment state that the service read last. */
export type SimTopup = ProviderState & {
  id: string
  userId: string
  amount: number
  createdAt: number
  isAuto: boolean
  /** Whether the top-up saves its payment method. */
  saves: boolean
  /** Whether the process had requested the charge from the provider before the process died. */
  wasAsked: boolean
  /** Index of the top-up's state in the provider's history, or of an earlier equal state. */
  at: number
}

/**
 * Amount charged in a limit's period, and when it last changed. `carried`: amount spent in this period but counted in
 * another window, because the limit's period changed.
 */
export type SimWindow = { charged: number; carried?: number; changedAt: number }
export type SimSpent = { ownerId: string; startsAt: number; amount: number; createdAt: number }

/** A product's key. Its daily limit applies to credits and to debits separately. */
export type SimPlatformKey = {
  token: string
  perDay: number | null
  day: number
  credited: number
  taken: number
}

/** `isErased`: the payload was erased with its user. */
export type SimLink = { userId: string; url: string; expiresAt: number; json: string; isErased?: boolean }

/** Plain data about people and their requests. `clone` copies it, as a backup copies the service's data. */
export type SimState = {
  people: SimPerson[]
  /** Former people. Their money still changes with late payment events. */
  erased: SimPerson[]
  /** Addresses without tags that got the trial credit. */
  trials: Set<string>
  tasks: Map<string, SimTask>
  sessions: Map<string, SimSession>
  links: SimLink[]
  invitations: SimInvitation[]
  platformKeys: SimPlatformKey[]
  topups: Map<string, SimTopup>
  topupKeys: Map<string, { body: string; topupId: string; at: number }>
  /** By owner and period start. */
  windows: Map<string, SimWindow>
  spent: SimSpent[]
  clientTokens: Map<string, { userId: string; expiresAt: number }>
}
