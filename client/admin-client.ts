import {
  createMethods,
  type InnerListMethod,
  type KeyedMethod,
  type ListMethod,
  type Method,
  type PlainMethod,
} from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

/** For admins with a browser login; a key is refused, but for accepting an invitation, which needs neither. */
export type AdminClients = {
  users: {
    list: ListMethod<'users.list'>
    get: Method<'users.get'>
    /** Suspends a user, ends the suspension, or changes who is an admin. */
    update: Method<'users.update'>
    /** Lifts an abuse block. */
    unblock: Method<'users.unblock'>
    /** Adds to a balance, or with a negative amount takes from it. The same key and amount credit once. */
    credit: KeyedMethod<'users.credit'>
    transactions: InnerListMethod<'users.transactions'>
    /** A link by which the user sets a password; shown this once. */
    createPasswordLink: Method<'users.createPasswordLink'>
  }
  invitations: {
    /** The link is in this answer and is never shown again. */
    create: Method<'invitations.create'>
    list: ListMethod<'invitations.list'>
    revoke: Method<'invitations.revoke'>
    /** What a link is for. */
    check: Method<'invitations.check'>
    /** Makes the account, or sets the password, and logs this browser in. */
    accept: Method<'invitations.accept'>
  }
  system: {
    /** How the service is doing. */
    get: PlainMethod<'system.get'>
  }
}

export function createAdminClients(call: Call): AdminClients {
  const { change, keyedChange, list, plainRead, read } = createMethods(call)
  return {
    users: {
      list: list('users.list'),
      get: read('users.get'),
      update: change('users.update'),
      unblock: change('users.unblock'),
      credit: keyedChange('users.credit'),
      transactions: list('users.transactions'),
      createPasswordLink: change('users.createPasswordLink'),
    },
    invitations: {
      create: change('invitations.create'),
      list: list('invitations.list'),
      revoke: change('invitations.revoke'),
      check: change('invitations.check'),
      accept: change('invitations.accept'),
    },
    system: { get: plainRead('system.get') },
  }
}
