import { connectorStatuses, connectorAuthTypes } from '../store/connectors/connector-types.ts'
import { z } from 'zod'
import { isoTimestamp, jsonObject, pageInput, pageOutput, resourceId } from '../kernel/wire-types.ts'
import { jsonBytes } from '../store/byte-bounds.ts'

const secretCharsMax = 8192
const headersMax = 10
/**
 * Maximum total number of characters in all header values. Most servers reject more, and every response is searched for
 * these values to redact them.
 */
const headerCharsMax = 16_384
const allowedToolsMax = 500
const allowedToolCharsMax = 200
const allowedToolsBytesMax = 65_536

const connectorId = resourceId.describe('The id returned when the connector was created')
const name = z.string().trim().min(1).max(60).describe('Name of the connector; unique per account')
const url = z.string().max(2000).describe('URL of an MCP server (streamable HTTP)')
const secret = z
  .string()
  .min(1)
  .max(secretCharsMax)
  .regex(/^[!-~]+$/, 'Must have only visible ASCII characters, without spaces')
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'Must be a header name of at most 100 characters, such as X-Api-Key')
const headerValue = z
  .string()
  .min(1)
  .max(secretCharsMax)
  .regex(/^[!-~](?:[ -~]*[!-~])?$/, 'Must have only printable ASCII characters and no space at either end')

const auth = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('none') }),
    z.object({ type: z.literal('bearer'), token: secret.describe('Sent as `Authorization: Bearer …`') }),
    z.object({
      type: z.literal('headers'),
      headers: z
        .record(headerName, headerValue)
        .refine((headers) => Object.keys(headers).length > 0, 'Must have at least one header')
        .refine((headers) => Object.keys(headers).length <= headersMax, `Must have at most ${headersMax} headers`)
        .refine(
          (headers) => Object.values(headers).reduce((sum, { length }) => sum + length, 0) <= headerCharsMax,
          `Must have at most ${headerCharsMax} characters in all headers together`,
        )
        .describe('Sent with every request'),
    }),
    z.object({
      type: z.literal('oauth').describe('The user signs in with POST /api/connectors/{connectorId}/sign-in'),
      clientId: secret
        .optional()
        .describe(
          'Id of a client registered with the authorization server; if omitted, a client is registered automatically',
        ),
      clientSecret: secret.optional().describe('Secret of the client, if it has one'),
    }),
  ])
  .describe('Credentials, which are stored encrypted and never shown again')
export type ConnectorAuth = z.output<typeof auth>

const allowedTools = z
  .array(z.string().min(1).max(allowedToolCharsMax))
  .max(allowedToolsMax)
  .refine((names) => jsonBytes(names) <= allowedToolsBytesMax, 'Must be at most 64 KB of JSON')
  .nullable()
  .describe('Tools that agents can call; null for all')

export const Connector = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.literal('mcp'),
    url: z.string().nullable(),
    server: z.string().nullable().describe('Id of a server provided by the operator'),
    auth: z.object({ type: z.enum(connectorAuthTypes) }),
    allowedTools: z.array(z.string()).nullable(),
    status: z
      .enum(connectorStatuses)
      .describe('Result of the last check; `needs_sign_in` if the auth type is `oauth` and the user must sign in'),
    statusMessage: z.string().nullable().describe('Why the last check or sign-in failed'),
    checkedAt: isoTimestamp.nullable(),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'Connector' })
export type Connector = z.output<typeof Connector>

export const CreateConnectorInput = z
  .object({
    name,
    type: z.literal('mcp').default('mcp').describe('The Model Context Protocol'),
    url: url.optional(),
    server: resourceId.optional().describe('Id of a server provided by the operator, instead of `url`'),
    auth: auth.default({ type: 'none' }),
    allowedTools: allowedTools.default(null),
  })
  .refine((input) => (input.url === undefined) !== (input.server === undefined), {
    path: ['url'],
    message: 'Must have either url or server',
  })

export const ConnectorInput = z.object({ connectorId })
export const SignInInput = z.object({
  connectorId,
  returnUrl: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .describe("URL of the product's page to which the browser returns; only for platform keys, which must set it"),
})
export const FinishSignInInput = z.object({
  connectorId,
  signIn: z.string().min(1).max(16_000).describe('The parameter `signIn` of the URL to which the browser returned'),
})
export const ListConnectorsInput = z.object(pageInput)
export const ListConnectorsOutput = z.object({ connectors: z.array(Connector), ...pageOutput })

export const UpdateConnectorInput = z
  .object({
    connectorId,
    name: name.optional(),
    url: url.optional().describe('If the host changes, the secrets must be sent again'),
    auth: auth.optional(),
    allowedTools: allowedTools.optional(),
  })
  .refine(({ connectorId: _id, ...changes }) => Object.values(changes).some((change) => change !== undefined), {
    message: 'Must have at least one field to change',
  })

export const SignInOutput = z.object({
  authorizationUrl: z.string().describe("URL to open in the user's browser"),
  expiresAt: isoTimestamp.describe('When this sign-in attempt expires'),
})
export type SignInOutput = z.output<typeof SignInOutput>

const Tool = z
  .object({
    name: z.string().describe('Name of the tool on the server'),
    title: z.string().optional(),
    description: z.string(),
    effect: z
      .enum(['readOnly', 'destructive'])
      .optional()
      .describe('Declared by the server, and not verified; omitted if it declares neither'),
    inputSchema: jsonObject.describe('JSON Schema of the arguments'),
    isAllowed: z.boolean().describe('Whether agents can call the tool'),
  })
  .meta({ id: 'ConnectorTool' })

export const ListToolsOutput = z.object({ tools: z.array(Tool), total: z.number().int() })
export type ListToolsOutput = z.output<typeof ListToolsOutput>

export const CallToolInput = z.object({
  connectorId,
  tool: z.string().min(1).max(allowedToolCharsMax).describe('Name of the tool on the server'),
  arguments: jsonObject.default({}).describe("Arguments that match the tool's input schema"),
})

export const CallToolOutput = z
  .object({
    content: z.array(jsonObject).describe('Parts of the result, as defined by the Model Context Protocol'),
    structuredContent: z.unknown().optional(),
    isError: z.boolean().describe('Whether the tool itself failed; `content` states the reason'),
  })
  .meta({ id: 'ConnectorToolResult' })
export type CallToolOutput = z.output<typeof CallToolOutput>

const ConnectorServer = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    takesToken: z.boolean().describe('Whether the server accepts a bearer token from the user'),
  })
  .meta({ id: 'ConnectorServer' })

export const ListServersOutput = z.object({ servers: z.array(ConnectorServer), ...pageOutput })
