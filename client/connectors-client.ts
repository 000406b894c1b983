import { createMethods, type ListMethod, type Method } from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

/** The MCP servers that the caller has connected. Changing them needs the scope `manage`. */
export type ConnectorsClient = {
  /**
   * Keeps a connector, its secrets encrypted and never shown again. Nothing is connected to yet.
   *
   * @example
   * const { id } = await client.connectors.create({
   *   name: 'Docs',
   *   url: 'https://mcp.example.com/mcp',
   *   auth: { type: 'bearer', token },
   * })
   */
  create: Method<'connectors.create'>
  get: Method<'connectors.get'>
  /** The caller's connectors, newest first. */
  list: ListMethod<'connectors.list'>
  /** Changes what is given, for example `allowedTools`. */
  update: Method<'connectors.update'>
  /** Deletes a connector with its secrets. */
  delete: Method<'connectors.delete'>
  /** Connects to the server; the connector's new `status` says how that went. */
  test: Method<'connectors.test'>
  /**
   * Begins a sign-in at the server of a connector whose auth is `oauth`: send the caller's browser to `authorizationUrl`.
   * The connector needs it while its status is `needs_sign_in`.
   */
  signIn: Method<'connectors.signIn'>
  /** Ends the sign-in: its tokens are deleted, and revoked where the server offers that. */
  signOut: Method<'connectors.signOut'>
  /** The tools that the server offers now; CONNECTOR_FAILED when it cannot be used. */
  tools: Method<'connectors.tools'>
  /** The servers that the operator offers. */
  servers: ListMethod<'connectors.servers'>
}

export function createConnectorsClient(call: Call): ConnectorsClient {
  const { change, list, read } = createMethods(call)
  return {
    create: change('connectors.create'),
    get: read('connectors.get'),
    list: list('connectors.list'),
    update: change('connectors.update'),
    delete: change('connectors.delete'),
    test: change('connectors.test'),
    signIn: change('connectors.signIn'),
    signOut: change('connectors.signOut'),
    tools: read('connectors.tools'),
    servers: list('connectors.servers'),
  }
}
