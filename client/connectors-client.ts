import type { Inputs, Outputs } from './client-types.ts'
import type { Call, CallOptions } from './rpc-call.ts'

type ConnectorsInputs = Inputs['connectors']
type ConnectorsOutputs = Outputs['connectors']

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
  create: (input: ConnectorsInputs['create'], options?: CallOptions) => Promise<ConnectorsOutputs['create']>
  get: (input: ConnectorsInputs['get'], options?: CallOptions) => Promise<ConnectorsOutputs['get']>
  /** One page of the caller's connectors, newest first. */
  list: (input?: ConnectorsInputs['list'], options?: CallOptions) => Promise<ConnectorsOutputs['list']>
  /** Changes what is given, for example `allowedTools`. */
  update: (input: ConnectorsInputs['update'], options?: CallOptions) => Promise<ConnectorsOutputs['update']>
  /** Deletes a connector with its secrets. */
  delete: (input: ConnectorsInputs['delete'], options?: CallOptions) => Promise<ConnectorsOutputs['delete']>
  /** Connects to the server; the connector's new `status` says how that went. */
  test: (input: ConnectorsInputs['test'], options?: CallOptions) => Promise<ConnectorsOutputs['test']>
  /** The tools that the server offers now; CONNECTOR_FAILED when it cannot be used. */
  tools: (input: ConnectorsInputs['tools'], options?: CallOptions) => Promise<ConnectorsOutputs['tools']>
  /** The servers that the operator offers. */
  servers: (input?: ConnectorsInputs['servers'], options?: CallOptions) => Promise<ConnectorsOutputs['servers']>
}

export function createConnectorsClient(call: Call): ConnectorsClient {
  return {
    create: (input, given) => call({ ...given }, (rpc, own) => rpc.connectors.create.mutate(input, own)),
    get: (input, given) => call({ ...given }, (rpc, own) => rpc.connectors.get.query(input, own)),
    list: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.connectors.list.query(input, own)),
    update: (input, given) => call({ ...given }, (rpc, own) => rpc.connectors.update.mutate(input, own)),
    delete: (input, given) => call({ ...given }, (rpc, own) => rpc.connectors.delete.mutate(input, own)),
    test: (input, given) => call({ ...given }, (rpc, own) => rpc.connectors.test.mutate(input, own)),
    tools: (input, given) => call({ ...given }, (rpc, own) => rpc.connectors.tools.query(input, own)),
    servers: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.connectors.servers.query(input, own)),
  }
}
