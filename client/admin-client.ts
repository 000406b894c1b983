import type { Inputs, Outputs } from './client-types.ts'
import { checkIdempotencyKey } from './idempotency-key.ts'
import type { Call, CallOptions } from './rpc-call.ts'
import type { CreateOptions } from './tasks-client.ts'

type UsersIn = Inputs['users']
type UsersOut = Outputs['users']
type InvitationsIn = Inputs['invitations']
type InvitationsOut = Outputs['invitations']

/** For admins with a browser login; a key is refused, but for accepting an invitation, which needs neither. */
export type AdminClients = {
  users: {
    list: (input?: UsersIn['list'], options?: CallOptions) => Promise<UsersOut['list']>
    get: (input: UsersIn['get'], options?: CallOptions) => Promise<UsersOut['get']>
    /** Suspends a user, ends the suspension, or changes who is an admin. */
    update: (input: UsersIn['update'], options?: CallOptions) => Promise<UsersOut['update']>
    /** Lifts an abuse block. */
    unblock: (input: UsersIn['unblock'], options?: CallOptions) => Promise<UsersOut['unblock']>
    /** Adds to a balance, or with a negative amount takes from it. The same key and amount credit once. */
    credit: (input: UsersIn['credit'], options?: CreateOptions) => Promise<UsersOut['credit']>
    transactions: (input: UsersIn['transactions'], options?: CallOptions) => Promise<UsersOut['transactions']>
    /** A link by which the user sets a password; shown this once. */
    createPasswordLink: (
      input: UsersIn['createPasswordLink'],
      options?: CallOptions,
    ) => Promise<UsersOut['createPasswordLink']>
  }
  invitations: {
    /** The link is in this answer and is never shown again. */
    create: (input: InvitationsIn['create'], options?: CallOptions) => Promise<InvitationsOut['create']>
    list: (input?: InvitationsIn['list'], options?: CallOptions) => Promise<InvitationsOut['list']>
    revoke: (input: InvitationsIn['revoke'], options?: CallOptions) => Promise<InvitationsOut['revoke']>
    /** What a link is for. */
    check: (input: InvitationsIn['check'], options?: CallOptions) => Promise<InvitationsOut['check']>
    /** Makes the account, or sets the password, and logs this browser in. */
    accept: (input: InvitationsIn['accept'], options?: CallOptions) => Promise<InvitationsOut['accept']>
  }
  system: {
    /** How the service is doing. */
    get: (options?: CallOptions) => Promise<Outputs['system']['get']>
  }
}

export function createAdminClients(call: Call): AdminClients {
  return {
    users: {
      list: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.users.list.query(input, own)),
      get: (input, given) => call({ ...given }, (rpc, own) => rpc.users.get.query(input, own)),
      update: (input, given) => call({ ...given }, (rpc, own) => rpc.users.update.mutate(input, own)),
      unblock: (input, given) => call({ ...given }, (rpc, own) => rpc.users.unblock.mutate(input, own)),
      credit: async (input, { idempotencyKey, signal } = {}) => {
        if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
        return await call({ signal, idempotencyKey }, (rpc, own) => rpc.users.credit.mutate(input, own))
      },
      transactions: (input, given) => call({ ...given }, (rpc, own) => rpc.users.transactions.query(input, own)),
      createPasswordLink: (input, given) =>
        call({ ...given }, (rpc, own) => rpc.users.createPasswordLink.mutate(input, own)),
    },
    invitations: {
      create: (input, given) => call({ ...given }, (rpc, own) => rpc.invitations.create.mutate(input, own)),
      list: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.invitations.list.query(input, own)),
      revoke: (input, given) => call({ ...given }, (rpc, own) => rpc.invitations.revoke.mutate(input, own)),
      check: (input, given) => call({ ...given }, (rpc, own) => rpc.invitations.check.mutate(input, own)),
      accept: (input, given) => call({ ...given }, (rpc, own) => rpc.invitations.accept.mutate(input, own)),
    },
    system: {
      get: (given) => call({ ...given }, (rpc, own) => rpc.system.get.query({}, own)),
    },
  }
}
