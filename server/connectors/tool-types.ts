/** JSON Schema (draft 2020-12 or 7) of an object, as an alternative to a Zod schema. */
export type JsonSchema = { readonly [key: string]: unknown }

/** A connector tool's result, in the format of the Model Context Protocol. */
export type ToolAnswer = {
  readonly content: readonly { readonly type: string; readonly [key: string]: unknown }[]
  readonly structuredContent?: unknown
  /** Whether the tool itself failed. The reason is in `content`. */
  readonly isError: boolean
  /** The text items of `content`, joined by line breaks. */
  readonly text: string
}

/** A tool of an MCP server that the user connected. */
export type ConnectorTool = {
  /**
   * Unique among the run's tools. This is the server's own tool name, with `_` in place of characters that model
   * providers reject. Prefixed with the connector's name if it would otherwise be ambiguous.
   */
  readonly name: string
  readonly connectorId: string
  /** Name that the user gave to the connector. */
  readonly connectorName: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema
}

/** The MCP servers that the user made available to a run. `tools` is empty if there are none. */
export type Connectors = {
  readonly tools: readonly ConnectorTool[]
  /**
   * Calls a tool by its `name`. Rejects if the server does not respond. In a chat, the call is charged, and the call
   * and its result become stream events. Do not yield these events yourself.
   */
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>
}
