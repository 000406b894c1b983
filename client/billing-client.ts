import {
  methodsOf,
  type EasyMethod,
  type KeyedMethod,
  type ListMethod,
  type Method,
  type PlainMethod,
} from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

export type BillingClients = {
  account: {
    get: PlainMethod<'account.get'>
    /**
     * Changes the auto-recharge settings and the low-balance notification threshold. Requires the `manage` or `pay`
     * scope.
     */
    update: Method<'account.update'>
    /** Returns the daily spending of the last `days` days. */
    usage: EasyMethod<'account.usage'>
    /** Requires a browser login, and ends all other logins of the account. */
    changePassword: Method<'account.changePassword'>
    /** Erases the account, which cannot be undone. Requires a browser login. */
    erase: Method<'account.erase'>
  }
  /** Payments that add credit. Available only if the service accepts payments: see the account's `payments`. */
  topups: {
    /**
     * Starts a payment that adds credit to the balance. Requires the `manage` or `pay` scope.
     *
     * @example
     * const { checkoutUrl } = await client.topups.create({ amountUsd: '25.00' })
     */
    create: KeyedMethod<'topups.create'>
    get: Method<'topups.get'>
    /** Lists the caller's top-ups, newest first. */
    list: ListMethod<'topups.list'>
    /** Deletes the stored payment method, which also turns off auto-recharge. */
    removeMethod: PlainMethod<'topups.removeMethod'>
    /**
     * Lists the top-ups of all users, with the total amounts paid, refunded, disputed and owed. Requires an admin's
     * browser login.
     */
    listAll: EasyMethod<'topups.listAll'>
  }
  transactions: {
    /** Lists charges, refunds and credits, newest first. */
    list: ListMethod<'transactions.list'>
  }
}

export function createBillingClients(call: Call): BillingClients {
  return {
    account: methodsOf(call, 'account', {
      get: 'plainRead',
      update: 'change',
      usage: 'read',
      changePassword: 'change',
      erase: 'change',
    }),
    topups: methodsOf(call, 'topups', {
      create: 'keyedChange',
      get: 'read',
      list: 'list',
      removeMethod: 'plainChange',
      listAll: 'read',
    }),
    transactions: methodsOf(call, 'transactions', { list: 'list' }),
  }
}
