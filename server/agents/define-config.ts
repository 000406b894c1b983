import type { z } from 'zod'

/** JSON Schema (draft 2020-12 or 7) of an object, as an alternative to a Zod schema. */
export type JsonSchema = { readonly [key: string]: unknown }

/** What validates an endpoint's `params`: a Zod 4 schema or a JSON Schema, either of an object. */
export type ParamsSchema = z.ZodType | JsonSchema

/** The values that a run gets for its params: what the Zod schema puts out, or a plain object for a JSON Schema. */
export type ParamsOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : Record<string, unknown>

/** Writes a line to the service's log, with the run's ids attached. */
export type AgentLog = (message: string, fields?: Record<string, unknown>) => void

/** What a task's run is given. `signal` fires at the endpoint's timeout and when the service stops the run. */
export type TaskRun<Params = Record<string, unknown>> = {
  readonly params: Params
  readonly userId: string
  readonly taskId: string
  readonly signal: AbortSignal
  readonly log: AgentLog
}

/** One operation of an agent that clients run as tasks; its id on the wire is `<agentId>.<name>`. */
export type EndpointConfig<Schema extends ParamsSchema = ParamsSchema> = {
  readonly description: string
  /** Price of one execution in USD, at most four decimals, for example `'0.0100'`. */
  readonly priceUsd: string
  readonly params: Schema
  /** Seconds from the start of processing until the task fails with AGENT_TIMEOUT; 300 by default. */
  readonly timeoutSeconds?: number
  /** How often an execution that the service interrupted is run again; 0 by default. Failures are never retried. */
  readonly retries?: number
  /** An object or a string is the task's response as it is; any other value becomes `{ result: value }`. */
  run(run: TaskRun<ParamsOf<Schema>>): unknown
}

type AgentBase = {
  readonly id: string
  readonly name: string
  readonly description?: string
  /** Who may see and run the agent: everyone (the default), or the users with these email addresses. */
  readonly visibility?: 'public' | readonly string[]
}

/** An agent whose endpoints are functions of the configuration file. */
export type CodeAgentConfig = AgentBase & {
  readonly kind: 'code'
  // Endpoints of one record differ in their params; `defineEndpoint` gives each its own types.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly endpoints?: { readonly [name: string]: EndpointConfig<any> }
}

export type AgentConfig = CodeAgentConfig

/** Limits of the service; each can also be set by an environment variable, `ERRAND_` and the name in capitals. */
export type LimitsConfig = {
  readonly executionsPerMinute?: number
  readonly abuseFailures?: number
  readonly abuseWindowSeconds?: number
  readonly abuseBlockSeconds?: number
  readonly abuseBlockMaxSeconds?: number
  readonly sessionIdleSeconds?: number
  readonly inlineBytes?: number
  readonly maxBodyBytes?: number
  readonly maxResultBytes?: number
  readonly signedUrlSeconds?: number
  readonly taskConcurrency?: number
  readonly drainSeconds?: number
  readonly turnTimeoutSeconds?: number
  readonly writeStallSeconds?: number
  readonly agentThreads?: number
  readonly agentThreadMemoryMb?: number
}

/** What errand.config.ts exports as its default. */
export type ErrandConfig = {
  readonly agents: readonly AgentConfig[]
  readonly limits?: LimitsConfig
}

/** Gives the configuration its types; at run time it returns its argument. */
export function defineConfig(config: ErrandConfig): ErrandConfig {
  return config
}

/** Gives one endpoint's `run` the types of its own params schema; at run time it returns its argument. */
export function defineEndpoint<Schema extends ParamsSchema>(endpoint: EndpointConfig<Schema>): EndpointConfig<Schema> {
  return endpoint
}
