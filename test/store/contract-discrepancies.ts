import { expect } from 'vitest'
import { sqlite } from '../../server/store/commands/statement.ts'
import { ledgerChecks } from '../../server/store/ledger/ledger-checks.ts'
import { holdingLimits, holdingsOf, untilExpired } from './damage-holdings.ts'
import { bookDamages } from './book-damages.ts'
import { eventDamages } from './event-damages.ts'
import { limitDamages } from './limit-damages.ts'
import { moneyDamages } from './money-damages.ts'
import { recordDamages } from './record-damages.ts'
import type { ContractTest } from './store-contract.ts'

// Injects each kind of damage, bypassing the store, into the account of a user who has some of everything. The matching
// check must name that user. So the tests fail if a check is removed, or if no damage exists for a check.

const damages = [...moneyDamages, ...limitDamages, ...eventDamages, ...recordDamages, ...bookDamages]

export function describeDiscrepancies(contractTest: ContractTest): void {
  contractTest(
    `the ledger check finds all ${damages.length} kinds of damage and names the affected account`,
    async (world) => {
      expect(new Set(damages.map(({ named }) => named))).toEqual(new Set(ledgerChecks(sqlite).map(({ what }) => what)))
      const untouched = await holdingsOf(world, 'untouched')
      const damaged = await Promise.all(
        damages.map(async (one, index) => ({ ...one, holdings: await holdingsOf(world, String(index)) })),
      )
      await untilExpired(world)
      expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
      await world.damage(damaged.flatMap(({ by, holdings }) => by(holdings)))
      const { differences } = await world.verify()
      const named = (what: string) => differences.filter((one) => one.what === what)
      const isNamed = (one: (typeof damaged)[0]) =>
        one.isOfNobody
          ? named(one.named).length >= damages.filter((other) => other.named === one.named).length
          : named(one.named).some(({ userId }) => userId === one.holdings.userId)
      expect(damaged.filter((one) => !isNamed(one)).map(({ title }) => title)).toEqual([])
      expect(differences.filter(({ userId }) => userId === untouched.userId)).toEqual([])
    },
    { tampers: true, limits: holdingLimits },
  )
}
