import { z } from 'zod'
import { isoTimestamp, jsonObject, pageInput, pageOutput, resourceId } from '../kernel/wire-types.ts'
import { jsonBytes } from '../store/byte-bounds.ts'
import { connectorAuthTypes, connectorStatuses } from '../store/records.ts'

const secretCharsMax = 8192
const headersMax = 10
/** Limit for all headers together; most servers reject more. Every answer is searched for header values. */
const headerCharsMax = 16_384
const allowedToolsBytesMax = 65_536

const connectorId = resourceId.describe('The id returned when the connector was created')
const name = z.string().trim().min(1).max(60).describe("What the connector is called; unique among the caller's")
const url = z.string().max(2000).describe('Address of an MCP server (streamable HTTP)')
const secret = z
  .string()
  .min(1)
  .max(secretCharsMax)
  .regex(/^[!-~]+$/, 'Must be visible ASCII characters without spaces')
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'Must be the name of a header')
const headerValue = z
  .string()
  .min(1)
  .max(secretCharsMax)
  .regex(/^[!-~](?:[ -~]*[!-~])?$/, 'Must be ASCII characters')

const auth = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('none') }),
    z.object({ type: z.literal('bearer'), token: secret.describe('Sent as `Authorization: Bearer …`') }),
    z.object({
      type: z.literal('headers'),
      headers: z
        .record(headerName, headerValue)
        .refine((headers) => Object.keys(headers).length > 0, 'Give at least one header')
        .refine((headers) => Object.keys(headers).length <= headersMax, `Give at most ${headersMax} headers`)
        .refine(
          (headers) => Object.values(headers).reduce((sum, { length }) => sum + length, 0) <= headerCharsMax,
          `Give at most ${headerCharsMax} characters of headers`,
        )
        .describe('Sent with every request'),
    }),
    z.object({
      type: z.literal('oauth').describe('Its owner signs in: POST /api/connectors/{connectorId}/sign-in'),
      clientId: secret
        .optional()
        .describe('Of a client registered at the authorization server; else one is registered'),
      clientSecret: secret.optional().describe('Of that client, where it has one'),
    }),
  ])
  .describe('Secrets, encrypted where they are stored and never shown again')
export type ConnectorAuth = z.output<typeof auth>

const allowedTools = z
  .array(z.string().min(1).max(200))
  .max(500)
  .refine((names) => jsonBytes(names) <= allowedToolsBytesMax, 'Must be at most 64 KB of JSON')
  .nullable()
  .describe('The tools that agents may call; null for all of them')

export const Connector = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.literal('mcp'),
    url: z.string().nullable(),
    server: z.string().nullable().describe('Id of a server that the operator offers'),
    auth: z.object({ type: z.enum(connectorAuthTypes) }),
    allowedTools: z.array(z.string()).nullable(),
    status: z
      .enum(connectorStatuses)
      .describe('As the last check found it; `needs_sign_in` while its auth is `oauth` and nobody has signed in'),
    statusMessage: z.string().nullable().describe('Why the last check failed, or the sign-in'),
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
    server: resourceId.optional().describe('Instead of `url`: id of a server that the operator offers'),
    auth: auth.default({ type: 'none' }),
    allowedTools: allowedTools.default(null),
  })
  .refine((input) => (input.url === undefined) !== (input.server === undefined), {
    path: ['url'],
    message: 'Give either a url or a server',
  })

export const ConnectorInput = z.object({ connectorId })
export const ListConnectorsInput = z.object(pageInput)
export const ListConnectorsOutput = z.object({ connectors: z.array(Connector), ...pageOutput })

export const UpdateConnectorInput = z
  .object({
    connectorId,
    name: name.optional(),
    url: url.optional().describe('At another host the secrets must be given anew'),
    auth: auth.optional(),
    allowedTools: allowedTools.optional(),
  })
  .refine(({ connectorId: _id, ...changes }) => Object.values(changes).some((change) => change !== undefined), {
    message: 'Give what to change',
  })

export const SignInOutput = z.object({
  authorizationUrl: z.string().describe('Where to send the browser of the one who signs in'),
  expiresAt: isoTimestamp.describe('Until when it may come back'),
})
export type SignInOutput = z.output<typeof SignInOutput>

const Tool = z
  .object({
    name: z.string().describe('As the server calls it'),
    title: z.string().optional(),
    description: z.string(),
    inputSchema: jsonObject.describe('JSON Schema of the arguments'),
    isAllowed: z.boolean().describe('Whether agents may call it'),
  })
  .meta({ id: 'ConnectorTool' })

export const ListToolsOutput = z.object({ tools: z.array(Tool), total: z.number().int() })
export type ListToolsOutput = z.output<typeof ListToolsOutput>

const ConnectorServer = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    takesToken: z.boolean().describe('Whether it can be given a token of the user'),
  })
  .meta({ id: 'ConnectorServer' })

export const ListServersOutput = z.object({ servers: z.array(ConnectorServer), ...pageOutput })
