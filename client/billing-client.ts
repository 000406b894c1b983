import {
  createMethods,
  type EasyMethod,
  type KeyedMethod,
  type ListMethod,
  type Method,
  type PlainMethod,
} from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

/** The caller's account, and what is paid into it. */
export type BillingClients = {
  account: {
    /** The caller's account with its balance. */
    get: PlainMethod<'account.get'>
    /** Below which balance the owner is told, and when it is recharged. Needs the scope `manage`. */
    update: Method<'account.update'>
    /** What the account spent on each of the last days. */
    usage: EasyMethod<'account.usage'>
    /** Needs a browser login, and ends all others of the account. */
    changePassword: Method<'account.changePassword'>
  }
  /** Where the service takes payments, which `payments` of the account says. */
  topups: {
    /**
     * Begins to pay for credit; needs the scope `manage`.
     *
     * @example
     * const { checkoutUrl } = await client.topups.create({ amountUsd: '25.00' })
     */
    create: KeyedMethod<'topups.create'>
    get: Method<'topups.get'>
    /** Newest first. */
    list: ListMethod<'topups.list'>
    /** Forgets what is paid with; auto-recharge ends with it. */
    removeMethod: PlainMethod<'topups.removeMethod'>
    /** Of all users, with what came in, went back and is owed; for admins with a browser login. */
    listAll: EasyMethod<'topups.listAll'>
  }
  transactions: {
    /** Charges, refunds and credits, newest first. */
    list: ListMethod<'transactions.list'>
  }
}

export function createBillingClients(call: Call): BillingClients {
  const { change, keyedChange, list, plainChange, plainRead, read } = createMethods(call)
  return {
    account: {
      get: plainRead('account.get'),
      update: change('account.update'),
      usage: read('account.usage'),
      changePassword: change('account.changePassword'),
    },
    topups: {
      create: keyedChange('topups.create'),
      get: read('topups.get'),
      list: list('topups.list'),
      removeMethod: plainChange('topups.removeMethod'),
      listAll: read('topups.listAll'),
    },
    transactions: { list: list('transactions.list') },
  }
}
