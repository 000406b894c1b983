import { z } from 'zod'
import type { ErrorDetail } from '../kernel/errors.ts'
import { parseUsd, type Units } from '../kernel/money.ts'
import type { CodeAgentConfig, ErrandConfig, JsonSchema, TaskRun } from './define-config.ts'
import { issueDetails, issuePath, toJsonSchema, toZodSchema } from './params-schema.ts'

export type Endpoint = {
  /** `<agentId>.<name>` */
  id: string
  agentId: string
  name: string
  description: string
  price: Units
  timeoutMs: number
  retries: number
  paramsJsonSchema: JsonSchema
  params: z.ZodType
  run: (run: TaskRun) => unknown
}

export type Agent = {
  id: string
  kind: 'code'
  name: string
  description: string
  visibility: 'public' | readonly string[]
  endpoints: readonly Endpoint[]
}

/** A configuration that cannot be served; the message names the field. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const idPattern = /^[a-z0-9][a-z0-9_-]{0,62}$/i
const id = z.string().regex(idPattern, 'is 1 to 63 letters, digits, dashes or underscores')
const price = z
  .string()
  .refine((text) => (parseUsd(text) ?? -1) >= 0, 'is a decimal of USD with at most four digits, such as "0.0100"')
const isFunction = z.custom<(run: TaskRun) => unknown>((value) => typeof value === 'function', 'is a function')
const isSchema = z.custom<JsonSchema>((value) => typeof value === 'object' && value !== null, 'is a Zod or JSON Schema')

const endpointConfig = z.strictObject({
  description: z.string(),
  priceUsd: price,
  params: isSchema,
  timeoutSeconds: z.number().positive().max(86_400).default(300),
  retries: z.number().int().min(0).max(10).default(0),
  run: isFunction,
})

const agentConfig = z.strictObject({
  kind: z.literal('code'),
  id,
  name: z.string().min(1),
  description: z.string().default(''),
  visibility: z.union([z.literal('public'), z.array(z.string())]).default('public'),
  endpoints: z.record(id, endpointConfig).default({}),
})

/** The agents of one configuration, checked once. Threads build their own from the same file. */
export class Catalogue {
  readonly agents: readonly Agent[]
  readonly #endpoints = new Map<string, Endpoint>()
  readonly #agents = new Map<string, Agent>()

  constructor(config: Pick<ErrandConfig, 'agents'>) {
    const parsed = z.strictObject({ agents: z.array(agentConfig), limits: z.unknown().optional() }).safeParse(config)
    if (!parsed.success) {
      const wrong = parsed.error.issues.map((issue) => `${issuePath('', issue.path)}: ${issue.message}`)
      throw new ConfigError(`The configuration is wrong: ${wrong.join('; ')}`)
    }
    this.agents = parsed.data.agents.map((agent, index) => toAgent(agent, config.agents[index]!))
    for (const agent of this.agents) {
      if (this.#agents.has(agent.id)) throw new ConfigError(`agents: two agents have the id "${agent.id}"`)
      this.#agents.set(agent.id, agent)
      for (const endpoint of agent.endpoints) this.#endpoints.set(endpoint.id, endpoint)
    }
  }

  agent(agentId: string): Agent | undefined {
    return this.#agents.get(agentId)
  }

  endpoint(endpointId: string): Endpoint | undefined {
    return this.#endpoints.get(endpointId)
  }
}

function toAgent(agent: z.output<typeof agentConfig>, source: CodeAgentConfig): Agent {
  const endpoints = Object.entries(agent.endpoints).map(([name, endpoint]): Endpoint => {
    const endpointId = `${agent.id}.${name}`
    // The source object keeps what a copy would lose: a Zod schema's methods, and `this` inside `run`.
    const own = source.endpoints![name]!
    try {
      return {
        id: endpointId,
        agentId: agent.id,
        name,
        description: endpoint.description,
        price: parseUsd(endpoint.priceUsd)!,
        timeoutMs: endpoint.timeoutSeconds * 1000,
        retries: endpoint.retries,
        paramsJsonSchema: toJsonSchema(own.params),
        params: toZodSchema(own.params),
        run: (run) => own.run(run),
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new ConfigError(`agents: the params schema of "${endpointId}" cannot be used: ${reason}`)
    }
  })
  const { id: agentId, kind, name, description, visibility } = agent
  return { id: agentId, kind, name, description, visibility, endpoints }
}

/** Whether that user may see and run the agent. */
export function isVisibleTo(agent: Agent, email: string): boolean {
  const { visibility } = agent
  return visibility === 'public' || visibility.some((allowed) => allowed.toLowerCase() === email.toLowerCase())
}

/** What is wrong with params, empty when nothing is. A schema that itself throws refuses what it was given. */
export async function checkParams(endpoint: Endpoint, params: unknown): Promise<ErrorDetail[]> {
  try {
    const result = await endpoint.params.safeParseAsync(params)
    return result.success ? [] : issueDetails('params', result.error.issues)
  } catch {
    return [{ path: 'params', message: 'These params could not be checked against the schema of the endpoint' }]
  }
}
