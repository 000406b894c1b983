// Types of a service's endpoints and agents, from the type of its configuration or from `EndpointTypes`. The client
// depends on neither Errand nor Zod, so these types import neither.

/**
 * The endpoints of one service, by id. Empty here, but `npx errand-client types URL` writes declarations that extend
 * it. Undeclared endpoints accept any params.
 *
 * @example
 * declare module 'errand-client' {
 *   interface EndpointTypes {
 *     'text.summarize': { params: { text: string }; response: { summary: string } }
 *   }
 * }
 */
// oxlint-disable-next-line typescript/consistent-type-definitions typescript/no-empty-object-type -- Only an interface can be added to.
export interface EndpointTypes {}

type AnyObject = Record<string, unknown>
type Declared<Id, Part extends string> = Id extends keyof EndpointTypes
  ? EndpointTypes[Id] extends { [part in Part]: infer Type }
    ? Type
    : AnyObject
  : AnyObject

type DeclaredId = keyof EndpointTypes extends never ? string : WithOthers<keyof EndpointTypes>
/** Accepts any string, and lets editors suggest the known values. */
type WithOthers<Known> = Known | (string & {})

export type AnyConfig = { readonly agents: readonly { readonly id: string }[] }
/** The default configuration type. Because it is `any`, every typed client is also an `ErrandClient`. */
// oxlint-disable-next-line typescript/no-explicit-any
export type UnknownConfig = any

type IdIn<Agent> = Agent extends { readonly id: infer Id extends string; readonly endpoints?: infer Endpoints }
  ? string extends Id
    ? string
    : `${Id}.${keyof NonNullable<Endpoints> & string}`
  : never

type EndpointIn<Agent, Id> = Agent extends { readonly id: infer AgentId extends string; readonly endpoints?: infer All }
  ? string extends AgentId
    ? never
    : Id extends `${AgentId}.${infer Name}`
      ? NonNullable<All>[Name & keyof NonNullable<All>]
      : never
  : never

type ChatAgentIn<Agent> = Agent extends { readonly id: infer Id extends string } & (
  | { readonly chat: object }
  | { readonly kind: 'model' | 'openai'; readonly pricing: object }
)
  ? Id
  : never

type InputOf<Endpoint> = Endpoint extends { readonly params: { readonly _zod: { readonly input: infer Input } } }
  ? Input
  : AnyObject
/** Without an `output` schema, the response of a model agent is its text. */
type ResponseOf<Endpoint> = Endpoint extends { readonly params: unknown; readonly output?: infer Output }
  ? [Extract<Output, object>] extends [never]
    ? Endpoint extends { readonly prompt: unknown }
      ? { text: string }
      : AnyObject
    : Output extends { readonly _zod: { readonly output: infer Result } }
      ? Json<Result>
      : AnyObject
  : never

/** The type of a value after it was sent as JSON. */
type Json<Value> = Value extends { toJSON(): infer Written }
  ? Json<Written>
  : Value extends object
    ? { [Key in keyof Value]: Json<Value[Key]> }
    : Value

type ConfiguredId<Config extends AnyConfig> = IdIn<Config['agents'][number]>

/**
 * The endpoint ids of a configuration: `EndpointId<typeof config>`. Without a configuration, a declared id or any other
 * string.
 */
export type EndpointId<Config extends AnyConfig = UnknownConfig> =
  string extends ConfiguredId<Config> ? DeclaredId : ConfiguredId<Config>
export type KnownEndpointId<Config extends AnyConfig> =
  string extends ConfiguredId<Config> ? keyof EndpointTypes : ConfiguredId<Config>

/** The ids of the agents that support chat: `ChatAgentId<typeof config>`. Without a configuration, any string. */
export type ChatAgentId<Config extends AnyConfig = UnknownConfig> =
  string extends ConfiguredId<Config> ? string : ChatAgentIn<Config['agents'][number]>

export type EndpointParams<Id, Config extends AnyConfig = UnknownConfig> = [
  EndpointIn<Config['agents'][number], Id>,
] extends [never]
  ? Declared<Id, 'params'>
  : InputOf<EndpointIn<Config['agents'][number], Id>>
export type EndpointResponse<Id, Config extends AnyConfig = UnknownConfig> = [
  EndpointIn<Config['agents'][number], Id>,
] extends [never]
  ? Declared<Id, 'response'>
  : ResponseOf<EndpointIn<Config['agents'][number], Id>>
