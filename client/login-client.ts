import { methodsOf, type ListMethod, type Method, type PlainMethod } from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

/** Browser sessions. These methods work only on the service's own pages, where the browser stores the login cookie. */
export type LoginClients = {
  login: {
    /** Lists the single sign-on providers. */
    options: PlainMethod<'login.options'>
    create: Method<'login.create'>
    /** Logs out the calling browser. */
    end: PlainMethod<'login.end'>
  }
  /** The account's browser logins. Requires the `manage` scope. */
  logins: {
    list: ListMethod<'logins.list'>
    end: Method<'logins.end'>
    /** Ends all logins, including the current one. */
    endAll: PlainMethod<'logins.endAll'>
  }
}

export function createLoginClients(call: Call): LoginClients {
  return {
    login: methodsOf(call, 'login', {
      options: 'separateRead',
      create: 'change',
      end: 'plainChange',
    }),
    logins: methodsOf(call, 'logins', {
      list: 'list',
      end: 'change',
      endAll: 'plainChange',
    }),
  }
}
