import {
  createMethods,
  type InnerListMethod,
  type KeyedMethod,
  type ListMethod,
  type Method,
  type PlainMethod,
} from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

/**
 * For admins with a browser login, and partly for platform keys; a key of a user is refused, but for accepting an
 * invitation, which needs none.
 */
export type AdminClients = {
  users: {
    list: ListMethod<'users.list'>
    get: Method<'users.get'>
    /** By the id of a product. */
    getByExternalId: Method<'users.getByExternalId'>
    /** The one user with that external id, made with an empty account where there is none. */
    getOrCreate: Method<'users.getOrCreate'>
    /** Suspends a user, ends the suspension, or changes who is an admin. */
    update: Method<'users.update'>
    /** Lifts an abuse block. */
    unblock: Method<'users.unblock'>
    /** Adds to a balance, or with a negative amount takes from it. The same key and amount credit once. */
    credit: KeyedMethod<'users.credit'>
    transactions: InnerListMethod<'users.transactions'>
    /** An API key of the user, with `read`, `execute` or both; shown this once. Of platform keys with the scope `act`. */
    createKey: Method<'users.createKey'>
    listKeys: InnerListMethod<'users.listKeys'>
    revokeKey: Method<'users.revokeKey'>
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
  /** Keys of products that are built on the service. */
  platformKeys: {
    /** The key itself is in this answer and is never shown again. */
    create: Method<'platformKeys.create'>
    list: ListMethod<'platformKeys.list'>
    /** Acts on the next request; repeating it changes nothing. */
    revoke: Method<'platformKeys.revoke'>
  }
  system: {
    /** How the service is doing. */
    get: PlainMethod<'system.get'>
  }
}

export function createAdminClients(call: Call): AdminClients {
  const { change, keyedChange, list, plainRead, read, repeatableChange } = createMethods(call)
  return {
    users: {
      list: list('users.list'),
      get: read('users.get'),
      getByExternalId: read('users.getByExternalId'),
      getOrCreate: repeatableChange('users.getOrCreate'),
      update: change('users.update'),
      unblock: change('users.unblock'),
      credit: keyedChange('users.credit'),
      transactions: list('users.transactions'),
      createKey: change('users.createKey'),
      listKeys: list('users.listKeys'),
      revokeKey: change('users.revokeKey'),
      createPasswordLink: change('users.createPasswordLink'),
    },
    invitations: {
      create: change('invitations.create'),
      list: list('invitations.list'),
      revoke: change('invitations.revoke'),
      check: change('invitations.check'),
      accept: change('invitations.accept'),
    },
    platformKeys: {
      create: change('platformKeys.create'),
      list: list('platformKeys.list'),
      revoke: change('platformKeys.revoke'),
    },
    system: { get: plainRead('system.get') },
  }
}
