import { toCallPromise, type CallPromise } from './calls/call-promise.ts'
import {
  methodsOf,
  type InnerListMethod,
  type KeyedOptions,
  type ListMethod,
  type Method,
  type PlainMethod,
} from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'
import type { Input, Output } from './types/client-types.ts'

/** Input for crediting a user by your product's own id. */
export type CreditExternalUserInput = Omit<Input<'users.credit'>, 'userId'> & { externalId: string }

/**
 * Operations for admins with a browser login. Some also accept platform keys, but none accepts a user's API key.
 * `invitations.check`, `accept`, `requestPasswordReset` and `requestSignUp` need no credential.
 */
export type AdminClients = {
  users: {
    list: ListMethod<'users.list'>
    get: Method<'users.get'>
    getByExternalId: Method<'users.getByExternalId'>
    /** Returns the user with this external id, or creates one with an empty account. */
    getOrCreate: Method<'users.getOrCreate'>
    /** Suspends or unsuspends a user, or grants or removes admin rights. */
    update: Method<'users.update'>
    unblock: Method<'users.unblock'>
    /** Erases a user, which cannot be undone. Idempotent. Platform keys require the `users` scope. */
    erase: Method<'users.erase'>
    /**
     * Adds `amountUsd` to a balance, or subtracts it if negative. Repeated calls with the same Idempotency-Key and
     * amount change the balance only once. If there is no user with the `externalId`, creates one, which also requires
     * the `users` scope.
     */
    credit: (
      input: Input<'users.credit'> | CreditExternalUserInput,
      options?: KeyedOptions,
    ) => CallPromise<Output<'users.credit'>>
    transactions: InnerListMethod<'users.transactions'>
    /** Finds the owner of a task, session, chat, transaction, top-up or API key by its id. */
    findOwner: Method<'users.findOwner'>
    tasks: InnerListMethod<'users.tasks'>
    /** Returns a user's task without its input and output. */
    task: Method<'users.task'>
    sessions: InnerListMethod<'users.sessions'>
    /**
     * Creates an API key for the user with the `read` scope, the `execute` scope, or both. Only this response contains
     * the key. Platform keys with the `act` scope can call this too.
     */
    createKey: Method<'users.createKey'>
    listKeys: InnerListMethod<'users.listKeys'>
    revokeKey: Method<'users.revokeKey'>
    listLogins: InnerListMethod<'users.listLogins'>
    endLogin: Method<'users.endLogin'>
    /** Creates a link that lets the user set a password. Only this response contains the link. */
    createPasswordLink: Method<'users.createPasswordLink'>
  }
  invitations: {
    /** Creates an invitation. Only this response contains the link. */
    create: Method<'invitations.create'>
    list: ListMethod<'invitations.list'>
    revoke: Method<'invitations.revoke'>
    /** Returns an invitation link's purpose and email address. */
    check: Method<'invitations.check'>
    /** Emails a link to set a new password, if the service sends email. */
    requestPasswordReset: Method<'invitations.requestPasswordReset'>
    /** Emails a link to create an account, if the service offers sign-up. */
    requestSignUp: Method<'invitations.requestSignUp'>
    /** Creates the account or sets the password, depending on the link. Logs in the calling browser. */
    accept: Method<'invitations.accept'>
  }
  /** Keys for products built on the service. */
  platformKeys: {
    /** Only this response contains the key. */
    create: Method<'platformKeys.create'>
    list: ListMethod<'platformKeys.list'>
    /** Includes daily credit totals for the last 30 days and the key's active client tokens. */
    get: Method<'platformKeys.get'>
    /** Revokes a client token that the platform key has created. Idempotent. */
    revokeToken: Method<'platformKeys.revokeToken'>
    /** Takes effect on the next request. Idempotent. */
    revoke: Method<'platformKeys.revoke'>
  }
  system: {
    get: PlainMethod<'system.get'>
  }
  mail: {
    /** Returns the mail server's settings, the newest emails, and every kind of email with its subject. */
    get: PlainMethod<'mail.get'>
    sendTest: Method<'mail.sendTest'>
  }
  audit: {
    /** Returns a page of the audit log: logins, and changes to users, keys, credit and limits. */
    list: Method<'audit.list'>
  }
  economics: {
    /** Returns a period's revenue, provider cost and margin, by group. Platform keys require the `economics` scope. */
    get: Method<'economics.get'>
  }
}

export function createAdminClients(call: Call): AdminClients {
  const users = methodsOf(call, 'users', {
    list: 'list',
    get: 'read',
    getByExternalId: 'read',
    getOrCreate: 'repeatableChange',
    update: 'change',
    unblock: 'change',
    erase: 'repeatableChange',
    credit: 'keyedChange',
    transactions: 'list',
    findOwner: 'read',
    tasks: 'list',
    task: 'read',
    sessions: 'list',
    createKey: 'change',
    listKeys: 'list',
    revokeKey: 'change',
    listLogins: 'list',
    endLogin: 'change',
    createPasswordLink: 'change',
  })
  return {
    users: {
      ...users,
      credit: (input, options) => {
        if (!('externalId' in input)) return users.credit(input, options)
        const { externalId, ...rest } = input
        const credited = users
          .getOrCreate({ externalId }, options)
          .then(({ id }) => users.credit({ ...rest, userId: id }, options).withResponse())
        return toCallPromise(credited)
      },
    },
    invitations: methodsOf(call, 'invitations', {
      create: 'change',
      list: 'list',
      revoke: 'change',
      check: 'change',
      requestPasswordReset: 'change',
      requestSignUp: 'change',
      accept: 'change',
    }),
    platformKeys: methodsOf(call, 'platformKeys', {
      create: 'change',
      list: 'list',
      get: 'read',
      revokeToken: 'change',
      revoke: 'change',
    }),
    system: methodsOf(call, 'system', { get: 'plainRead' }),
    audit: methodsOf(call, 'audit', { list: 'read' }),
    mail: methodsOf(call, 'mail', { get: 'plainRead', sendTest: 'change' }),
    economics: methodsOf(call, 'economics', { get: 'read' }),
  }
}
