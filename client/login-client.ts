import type { Inputs, Outputs } from './client-types.ts'
import type { Call, CallOptions } from './rpc-call.ts'

type Out = Outputs

/** For pages of the service itself, where the browser keeps the cookie of the login. */
export type LoginClients = {
  login: {
    /** The providers of single sign-on. */
    options: (options?: CallOptions) => Promise<Out['login']['options']>
    create: (input: Inputs['login']['create'], options?: CallOptions) => Promise<Out['login']['create']>
    /** Logs this browser out. */
    end: (options?: CallOptions) => Promise<Out['login']['end']>
  }
  /** The account's browser logins; needs the scope `manage`. */
  logins: {
    list: (input?: Inputs['logins']['list'], options?: CallOptions) => Promise<Out['logins']['list']>
    end: (input: Inputs['logins']['end'], options?: CallOptions) => Promise<Out['logins']['end']>
    /** Ends all of them, this one too. */
    endAll: (options?: CallOptions) => Promise<Out['logins']['endAll']>
  }
}

export function createLoginClients(call: Call): LoginClients {
  return {
    login: {
      options: (given) => call({ ...given, isAlone: true }, (rpc, own) => rpc.login.options.query({}, own)),
      create: (input, given) => call({ ...given }, (rpc, own) => rpc.login.create.mutate(input, own)),
      end: (given) => call({ ...given }, (rpc, own) => rpc.login.end.mutate({}, own)),
    },
    logins: {
      list: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.logins.list.query(input, own)),
      end: (input, given) => call({ ...given }, (rpc, own) => rpc.logins.end.mutate(input, own)),
      endAll: (given) => call({ ...given }, (rpc, own) => rpc.logins.endAll.mutate({}, own)),
    },
  }
}
