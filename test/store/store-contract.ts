import { expect, test } from 'vitest'
import type { StoreLimits } from '../../server/store/store.ts'
import { describeAbuseBlock } from './contract-abuse-block.ts'
import { describeAdmission } from './contract-admission.ts'
import { describeCaps } from './contract-caps.ts'
import { describeCancel } from './contract-cancel.ts'
import { describeConnectorTasks } from './contract-connectors.ts'
import { describeDeliveries } from './contract-deliveries.ts'
import { describeDiscrepancies } from './contract-discrepancies.ts'
import { describeErasure } from './contract-erasure.ts'
import { describeEvents } from './contract-events.ts'
import { describeIdempotency } from './contract-idempotency.ts'
import { describeInvitations } from './contract-invitations.ts'
import { describeKeys } from './contract-keys.ts'
import { describeLedger } from './contract-ledger.ts'
import { describeLimits } from './contract-limits.ts'
import { describeLists } from './contract-lists.ts'
import { describeLogins } from './contract-logins.ts'
import { describePayloadBytes } from './contract-payload-bytes.ts'
import { describeWriteOffs } from './contract-write-offs.ts'
import { describeCarried } from './contract-carried.ts'
import { describeAudit } from './contract-audit.ts'
import { describeBooks } from './contract-books.ts'
import { describeMails } from './contract-mails.ts'
import { describeMetered } from './contract-metered.ts'
import { describeMoney } from './contract-money.ts'
import { describePayments } from './contract-payments.ts'
import { describeTopups } from './contract-topups.ts'
import { describePeople } from './contract-people.ts'
import { describeQueue } from './contract-queue.ts'
import { describeRandomHistories } from './contract-random.ts'
import { describeRate } from './contract-rate.ts'
import { describeRestart } from './contract-restart.ts'
import { describeRetention } from './contract-retention.ts'
import { describeRetries } from './contract-retries.ts'
import { describeSearch } from './contract-search.ts'
import { describeSpend } from './contract-spend.ts'
import { describeStateless } from './contract-stateless.ts'
import { describeTags } from './contract-tags.ts'
import { describeTaskMoves } from './contract-task-moves.ts'
import { describeTurnEvents } from './contract-turn-events.ts'
import { describeWindowChanges } from './contract-window-changes.ts'
import { describeWindows } from './contract-windows.ts'
import { describeWireRequests } from './contract-wire-requests.ts'
import { noLimits, openWorld, type StoreEngine, type StoreWorld } from './store-world.ts'

/** Registers one contract test. Its body gets a new, empty store. */
export type ContractTest = (
  title: string,
  body: (world: StoreWorld) => Promise<void>,
  options?: ContractOptions,
) => void

type ContractOptions = {
  /** Limits of the store. Omitted limits are off. */
  limits?: Partial<StoreLimits>
  /** Skips the final ledger check, because the test damages the ledger on purpose. */
  tampers?: boolean
}

/**
 * Returns a test of the contract. The ledger must balance after each test, so the money invariants are checked on every
 * path, not only in tests about money.
 */
function testOf(engine: StoreEngine): ContractTest {
  return (title, body, { limits = {}, tampers = false } = {}) => {
    test(`${engine.name}: ${title}`, async () => {
      const world = await openWorld(engine, { ...noLimits, ...limits })
      try {
        await body(world)
        if (!tampers) expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
      } finally {
        await world.close()
      }
    })
  }
}

/** Defines the part of every engine's contract about tasks, turns and their money. */
export function describeWorkContract(engine: StoreEngine): void {
  const contractTest = testOf(engine)
  describeAdmission(contractTest)
  describeRate(contractTest)
  describeIdempotency(contractTest)
  describeWireRequests(contractTest)
  describeTaskMoves(contractTest)
  describeQueue(contractTest)
  describeRetries(contractTest)
  describeRetention(contractTest)
  describeCancel(contractTest)
  describeConnectorTasks(contractTest)
  describeAbuseBlock(contractTest)
  describeLists(contractTest)
  describeTags(contractTest)
  describeSearch(contractTest)
  describeMoney(contractTest)
  describeMetered(contractTest)
  describeBooks(contractTest)
  describeCarried(contractTest)
  describeWriteOffs(contractTest)
  describePayloadBytes(contractTest)
  describeCaps(contractTest)
  describeStateless(contractTest)
  describeTurnEvents(contractTest)
}

/** Defines the part of every engine's contract about limits, the ledger, events, payments and people. */
export function describeAccountContract(engine: StoreEngine): void {
  const contractTest = testOf(engine)
  describeLimits(contractTest)
  describeWindows(contractTest)
  describeWindowChanges(contractTest)
  describeLedger(contractTest)
  describeAudit(contractTest)
  describeErasure(contractTest)
  describeDiscrepancies(contractTest)
  describeEvents(contractTest)
  describeDeliveries(contractTest)
  describeMails(contractTest)
  describePayments(contractTest)
  describeTopups(contractTest)
  describePeople(contractTest)
  describeKeys(contractTest)
  describeLogins(contractTest)
  describeInvitations(contractTest)
  describeSpend(contractTest)
  describeRestart(contractTest)
  describeRandomHistories(contractTest)
}
