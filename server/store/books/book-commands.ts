import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import { must } from '../../kernel/assert.ts'
import type { Op, Tx } from '../commands/command.ts'
import { insertInto, statement } from '../commands/statement.ts'

const dayMs = 86_400_000
const dimensions = 'userId day agentId endpointId model plan keyId'
const sums = ['executions', 'failures', 'charged', 'refunded', 'written_off', 'provider_cost']

const add = statement(
  'book_add',
  `${insertInto('book_days', `${dimensions} executions failures charged refunded writtenOff providerCost`)}
    ON CONFLICT (user_id, day, agent_id, endpoint_id, model, plan, key_id)
    DO UPDATE SET ${sums.map((sum) => `${sum} = book_days.${sum} + excluded.${sum}`).join(', ')}`,
)

export type Booked = {
  userId: string
  agentId: string
  endpointId?: string
  model: string | null | undefined
  plan: string | null
  keyId: string | null
  isFailure: boolean
  charged: Units
  refunded?: Units
  writtenOff?: Units
  /** In billionths of a USD. */
  providerCost: number | null
  now: EpochMs
}

/** Adds an ended task or turn to the books. The caller must have locked the account. */
export function book(tx: Tx, { isFailure, keyId, model, now, plan, providerCost, ...of }: Booked): void {
  const { agentId, charged, endpointId = agentId, refunded = 0, userId, writtenOff = 0 } = of
  tx.send(add, {
    userId,
    day: Math.floor(now / dayMs),
    agentId,
    endpointId,
    model: model ?? '',
    plan: plan ?? '',
    keyId: keyId ?? '',
    executions: 1,
    failures: isFailure ? 1 : 0,
    charged,
    refunded,
    writtenOff,
    providerCost: providerCost ?? 0,
  })
}

type BookTask = Pick<Booked, 'isFailure' | 'model' | 'now' | 'refunded'> & { providerCost?: number | null | undefined }
type EndedTask = Pick<Booked, 'userId' | 'agentId' | 'keyId'> & { endpointId: string; cost: Units }

export function* bookTask(tx: Tx, task: EndedTask, { providerCost = null, ...of }: BookTask): Op<void> {
  const { agentId, cost: charged, endpointId, keyId, userId } = task
  const { plan } = must(yield* tx.account(userId), 'a task has an account')
  book(tx, { userId, agentId, endpointId, keyId, plan, charged, providerCost, ...of })
}
