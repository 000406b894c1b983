import { formatUsd } from '../../kernel/money.ts'
import { recorded } from '../audit/audit-commands.ts'
import type { PaymentStore, Recharge } from './payment-types.ts'
import type { Engine } from '../commands/command.ts'
import * as accounts from './payment-account-commands.ts'
import { applyState, restoreTopup } from './payment-states.ts'
import * as topups from './topup-commands.ts'

function factsOf(recharge: Recharge | null): Record<string, unknown> {
  if (!recharge) return { autoRecharge: null }
  const [belowUsd, toUsd, monthlyMaxUsd] = [recharge.below, recharge.to, recharge.monthlyMax].map(formatUsd)
  return { belowUsd, toUsd, monthlyMaxUsd }
}

export function paymentStore(engine: Engine): PaymentStore {
  return {
    createTopup: (input) => engine.run((tx) => topups.createTopup(tx, input), { userId: input.userId }),
    noteCheckout: (input) => engine.run((tx) => topups.noteCheckout(tx, input), { userId: input.userId }),
    closePageless: (of) => engine.run((tx) => topups.closePageless(tx, of), { userId: of.userId }),
    getTopup: (of) => engine.read((on) => topups.getTopup(on, of)),
    countTopups: (of) => engine.read((on) => topups.countTopups(on, of)),
    listTopups: (input) => engine.read((on) => topups.listTopups(on, input), input.userId),
    findTopup: (of) => engine.read((on) => topups.findTopup(on, of)),
    applyState: async (input) => {
      const ref = { topupId: input.state.topupId, checkoutId: null, paymentId: null }
      const topup = await engine.read((on) => topups.findTopup(on, ref))
      return await engine.run((tx) => applyState(tx, input), topup && { userId: topup.userId })
    },
    restoreTopup: (input) => engine.run((tx) => restoreTopup(tx, input), { userId: input.userId }),
    sumDays: (period) => engine.read((on) => topups.sumDays(on, period)),
    totalOwed: () => engine.read((on) => topups.totalOwed(on)),
    getAccount: (userId) => engine.read((on) => accounts.getPaymentAccount(on, userId)),
    setNotifyBelow: (input) => engine.run((tx) => accounts.setNotifyBelow(tx, input), { userId: input.userId }),
    setRecharge: ({ recharge, userId }) =>
      engine.run(
        recorded(
          (tx) => accounts.setRecharge(tx, { recharge, userId }),
          (outcome) => outcome === 'changed' && { action: 'auto_recharge.changed', userId, change: factsOf(recharge) },
        ),
        { userId },
      ),
    forgetMethod: (input) =>
      engine.run(
        recorded(
          (tx) => accounts.forgetMethod(tx, input),
          (methodId) => methodId !== null && { action: 'payment_method.removed', userId: input.userId },
        ),
        { userId: input.userId },
      ),
    rechargeable: (input) => engine.read((on) => accounts.rechargeable(on, input)),
    beginRecharge: (input) => engine.run((tx) => accounts.beginRecharge(tx, input), { userId: input.userId }),
  }
}
