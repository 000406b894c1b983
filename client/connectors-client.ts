import { methodsOf, type ListMethod, type Method } from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

/** MCP servers that the caller has connected. Changing them requires the `manage` or `connectors` scope. */
export type ConnectorsClient = {
  /**
   * Stores a connector without connecting to it. Its secrets are encrypted and never shown again.
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
  /** Lists the caller's connectors, newest first. */
  list: ListMethod<'connectors.list'>
  /** Changes only the fields in the input, such as `allowedTools`. */
  update: Method<'connectors.update'>
  /** Also deletes the connector's secrets. */
  delete: Method<'connectors.delete'>
  /** Connects to the server, and returns the connector's new `status`. */
  test: Method<'connectors.test'>
  /**
   * Starts the sign-in of an `oauth` connector, which is required if its status is `needs_sign_in`. Open
   * `authorizationUrl` in the user's browser.
   */
  signIn: Method<'connectors.signIn'>
  /**
   * Finishes a sign-in that a platform key started with a `returnUrl`. Pass the `signIn` query parameter that was added
   * to that URL.
   */
  finishSignIn: Method<'connectors.finishSignIn'>
  /** Deletes the sign-in's tokens. Also revokes them if the server supports it. */
  signOut: Method<'connectors.signOut'>
  /** Lists the tools that the server currently offers. Rejects with CONNECTOR_FAILED if the server cannot be used. */
  tools: Method<'connectors.tools'>
  /**
   * Calls one of the connector's allowed tools without an agent. The call is free. `isError` is true if the tool failed.
   *
   * @example
   * const { content } = await client.connectors.callTool({
   *   connectorId,
   *   tool: 'get-sum',
   *   arguments: { a: 2, b: 40 },
   * })
   */
  callTool: Method<'connectors.callTool'>
  /** Lists the MCP servers that the operator offers. */
  servers: ListMethod<'connectors.servers'>
}

export function createConnectorsClient(call: Call): ConnectorsClient {
  return methodsOf(call, 'connectors', {
    create: 'change',
    get: 'read',
    list: 'list',
    update: 'change',
    delete: 'change',
    test: 'change',
    signIn: 'change',
    finishSignIn: 'change',
    signOut: 'change',
    tools: 'read',
    callTool: 'change',
    servers: 'list',
  })
}
