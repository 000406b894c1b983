import { z } from 'zod'
import { parseUsd } from '../../kernel/money.ts'
import { executionsPerMinuteMax, tasksMax } from '../../store/limits/account-limits.ts'
import { parseWebhookSecret } from './webhook-secret.ts'
import { cost, pricing, textThat } from './rates-schema.ts'
import { acceptPattern } from '../files/media-types.ts'
import type { ChatRun, ChatPart, JsonSchema, ModelAgentConfig, TaskRun } from './define-config.ts'

// Schemas of the configuration file. Each error message completes a sentence that starts with the field's name. `npm
// run reference` generates docs/reference/settings.md from these schemas and from the comments of the types in this
// folder.

/** Creates a schema for values that JSON Schema cannot describe, such as functions. */
function valueThat<T>(holds: (value: unknown) => boolean, what: string) {
  return z.custom<T>(holds, `must be ${what}`).describe(what)
}

const id = textThat(
  (text) => /^[a-z0-9][a-z0-9_-]{0,62}$/i.test(text),
  '1 to 63 letters, digits, dashes or underscores',
)
const price = textThat(
  (text) => (parseUsd(text) ?? -1) >= 0,
  'a USD amount with at most four decimals, such as "0.0100"',
)
const isFunction = (value: unknown) => typeof value === 'function'
const promptFunction = valueThat<(params: unknown) => unknown>(isFunction, 'a function')
const replyFunction = valueThat<(run: ChatRun) => AsyncIterable<ChatPart>>(isFunction, 'a function')
const isObject = (value: unknown) => typeof value === 'object' && value !== null
const paramsSchema = valueThat<JsonSchema>(isObject, 'a Zod schema or a JSON Schema')
const tokens = z.number().int().min(1).max(10_000_000)

/**
 * Default limits on the tokens that users' connectors may add to prompts. Each byte counts as one token. Users pay for
 * these tokens in chats, and the operator pays for them in tasks.
 */
const chatConnectorTokensMax = 500_000
export const taskConnectorTokensMax = 100_000
const connectorTokens = z.number().int().min(0).max(10_000_000)
const ofConnectors = { connectorTokensMax: connectorTokens.default(taskConnectorTokensMax) }

const eventsMax = 32
const eventPrice = textThat(
  (text) => (parseUsd(text) ?? 0) > 0,
  'a USD amount above 0 with at most four decimals, such as "0.0020"',
)
const events = z
  .record(id, eventPrice)
  .refine((prices) => Object.keys(prices).length >= 1 && Object.keys(prices).length <= eventsMax, {
    error: `must have 1 to ${eventsMax} events`,
  })
  .describe(`1 to ${eventsMax} prices, by event name`)

type EventPrices = { events?: Record<string, string> | undefined; maxUsd: string }
const coversEvents = ({ events: prices = {}, maxUsd }: EventPrices) =>
  Object.values(prices).every((one) => parseUsd(one)! <= parseUsd(maxUsd)!)
const ofMaximum = {
  path: ['maxUsd'],
  error: 'must be at least the highest event price',
  when: ({ issues }: { issues: unknown[] }) => issues.length === 0,
}

const eventPricing = z.strictObject({ events, maxUsd: eventPrice }).refine(coversEvents, ofMaximum)
const codePricing = z
  .strictObject({ events: events.optional(), tokens: pricing.optional(), maxUsd: eventPrice })
  .refine(coversEvents, ofMaximum)

export const cancelModes = ['always', 'pending'] as const

const endpointBase = {
  description: z.string(),
  params: paramsSchema,
  output: paramsSchema.optional(),
  timeoutSeconds: z.number().positive().max(86_400).default(300),
  retries: z.number().int().min(0).max(10).default(0),
  cancel: z.enum(cancelModes).default('always'),
}

const eitherPrice = { priceUsd: price.optional(), pricing: eventPricing.optional() }

function isPriced({ priceUsd, pricing }: { priceUsd?: unknown; pricing?: unknown }): boolean {
  return (priceUsd === undefined) !== (pricing === undefined)
}
const priced = 'must have either priceUsd or pricing'

export const contextTokensDefault = 128_000
export const maxOutputTokensDefault = 4096

const agentBase = {
  id,
  name: z.string().min(1),
  description: z.string().default(''),
  visibility: z.union([z.literal('public'), z.array(z.string())]).default('public'),
}

const acceptsMax = 50
const accepted = textThat((text) => acceptPattern.test(text), 'a media type such as "application/pdf", or "image/*"')

const chatBounds = {
  contextTokens: tokens.default(contextTokensDefault),
  maxOutputTokens: tokens.default(maxOutputTokensDefault),
  reasoning: z.boolean().default(false),
  accepts: z.array(accepted).max(acceptsMax).default([]),
  imageTokensMax: tokens.optional(),
  documentTokensMax: tokens.optional(),
}

const codeAgent = z.strictObject({
  ...agentBase,
  kind: z.literal('code'),
  connectorTokensMax: connectorTokens.default(chatConnectorTokensMax),
  endpoints: z
    .record(
      id,
      z
        .strictObject({
          ...endpointBase,
          priceUsd: price.optional(),
          pricing: codePricing.optional(),
          ...ofConnectors,
          run: valueThat<(run: TaskRun) => unknown>(isFunction, 'a function').optional(),
          prompt: promptFunction.optional(),
          reply: replyFunction.optional(),
          cost: cost.optional(),
          contextTokens: chatBounds.contextTokens,
          maxOutputTokens: chatBounds.maxOutputTokens,
        })
        .refine(isPriced, priced)
        .refine(
          ({ cost: own, prompt, reply, run }) => (run ? !prompt && !reply && !own : prompt && reply),
          'must have either run, or prompt and reply. Only reply allows cost',
        )
        .refine(({ pricing: own, reply }) => !own || (reply ? own.tokens && !own.events : own.events && !own.tokens), {
          path: ['pricing'],
          error: 'must have events if the endpoint has run, or tokens if it has reply',
        }),
    )
    .default({}),
  chat: z
    .strictObject({
      ...chatBounds,
      pricing,
      cost: cost.optional(),
      reply: replyFunction,
    })
    .optional(),
})

const tokenPricing = z.strictObject({
  tokens: pricing,
  maxUsd: eventPrice,
  events: z.never('must be omitted, because model agents do not charge events').optional(),
})

const languageModel = valueThat<ModelAgentConfig['model']>(isLanguageModel, 'a language model object of the AI SDK')
const fallbacksMax = 4

const modelAgent = z.strictObject({
  ...agentBase,
  ...chatBounds,
  kind: z.literal('model'),
  connectorTokensMax: connectorTokens.default(chatConnectorTokensMax),
  model: languageModel,
  fallbacks: z
    .array(z.strictObject({ model: languageModel, pricing: pricing.optional(), cost: cost.optional() }))
    .max(fallbacksMax)
    .default([]),
  providerOptions: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
  caching: z.union([z.boolean(), z.literal('1h')]).default(false),
  instructions: z.string().optional(),
  tools: z.record(z.string(), valueThat<object>(isObject, 'a tool of the AI SDK')).optional(),
  maxSteps: z.number().int().min(1).max(100).default(8),
  hiddenReasoning: z.boolean().default(false),
  pricing: pricing.optional(),
  cost: cost.optional(),
  endpoints: z
    .record(
      id,
      z
        .strictObject({
          ...endpointBase,
          priceUsd: price.optional(),
          pricing: tokenPricing.optional(),
          ...ofConnectors,
          prompt: promptFunction,
        })
        .refine(isPriced, priced),
    )
    .default({}),
})

const { model: _model, ...modelFields } = modelAgent.shape

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).describe('an http or https URL')

const openaiAgent = z.strictObject({
  ...modelFields,
  kind: z.literal('openai'),
  baseUrl: httpUrl,
  model: z.string().min(1),
  apiKey: z.string().min(1).optional(),
  supportsStructuredOutputs: z.boolean().default(false),
})

const httpAgent = z.strictObject({
  ...agentBase,
  kind: z.literal('http'),
  url: httpUrl,
  secret: textThat(
    (text) => parseWebhookSecret(text) !== undefined,
    'whsec_ followed by 24 to 64 bytes in base64, as in Standard Webhooks',
  ),
  endpoints: z.record(id, z.strictObject({ ...endpointBase, ...eitherPrice }).refine(isPriced, priced)).default({}),
  chat: z.strictObject({ ...chatBounds, pricing, cost: cost.optional() }).optional(),
})

const agentSchema = z.discriminatedUnion('kind', [codeAgent, modelAgent, openaiAgent, httpAgent])
export type ParsedAgent = Exclude<z.output<typeof agentSchema>, { kind: 'openai' }>

/** Allows only portable names, because a shell that starts the MCP server may drop variables with other names. */
const variableName = textThat((text) => /^[A-Z_][A-Z0-9_]*$/i.test(text), 'the name of an environment variable')

const stdioServer = z.strictObject({
  name: z.string().min(1),
  description: z.string().default(''),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(variableName, z.string()).default({}),
  cwd: z.string().optional(),
  tokenEnv: variableName.optional(),
})
export type StdioServer = z.output<typeof stdioServer>

const connectorsSchema = z.strictObject({
  servers: z.record(id, stdioServer).default({}),
  privateHosts: z.array(z.string().min(1)).default([]),
})

const webhooksSchema = z.strictObject({ privateHosts: z.array(z.string().min(1)).default([]) })

const issuerText = 'an https URL; http is allowed only for a provider on this machine'

const loginProvider = z.strictObject({
  id,
  name: z.string().min(1),
  issuer: z.url().refine(isSafeIssuer, `must be ${issuerText}`).describe(issuerText),
  clientId: z.string().min(1),
  clientSecret: z.string().min(1).optional(),
  scopes: z
    .array(z.string().min(1))
    .refine((scopes) => scopes.includes('openid'), 'must contain openid')
    .default(['openid', 'email', 'profile']),
  createAccounts: z.boolean().default(false),
  emailDomains: z.array(z.string().min(1).toLowerCase()).optional(),
})
export type LoginProvider = z.output<typeof loginProvider>

function isSafeIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { hostname, protocol } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname))
}

export const loginSchema = z.strictObject({ providers: z.array(loginProvider).default([]) })

const planSchema = z.strictObject({
  executionsPerMinute: z.number().int().min(0).max(executionsPerMinuteMax).optional(),
  tasksAtWork: z.number().int().min(1).max(tasksMax).optional(),
  tasksWaiting: z.number().int().min(1).max(tasksMax).optional(),
  spendPerDayUsd: price.optional(),
  agents: z.array(id).optional(),
})

/**
 * At least seven days, because events are stored for seven days and idempotency keys for one. Both refer to tasks and
 * sessions.
 */
const retentionDays = z
  .number()
  .int()
  .min(7, 'must be at least 7, because webhook events are stored for 7 days. Omit it to delete nothing')
  .max(36_500)

const retentionSchema = z.strictObject({ tasksDays: retentionDays.optional(), sessionsDays: retentionDays.optional() })

export const configSchema = z.strictObject({
  agents: z.array(agentSchema),
  connectors: connectorsSchema.default({ servers: {}, privateHosts: [] }),
  webhooks: webhooksSchema.default({ privateHosts: [] }),
  login: loginSchema.default({ providers: [] }),
  limits: z.unknown().optional(),
  retention: retentionSchema.default({}),
  plans: z.record(id, planSchema).default({}),
  defaultPlan: z.string().optional(),
})
export type ParsedConfig = z.output<typeof configSchema>

function isLanguageModel(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'specificationVersion' in value && 'doStream' in value
}
