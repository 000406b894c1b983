import {
  callTool,
  createConnector,
  deleteConnector,
  finishProductSignIn,
  getConnector,
  listConnectors,
  listServers,
  listTools,
  signIn,
  signOut,
  testConnector,
  updateConnector,
  type ConnectorParts,
} from './manage-connectors.ts'
import { ErrandError } from '../kernel/errors.ts'
import { Confirmation } from '../kernel/wire-types.ts'
import { pageBytesOf } from '../procedures/context.ts'
import { holdAnswer } from '../procedures/hold-answer.ts'
import { pageTurn } from '../procedures/page-turn.ts'
import { procedure, router, withScope, withWrite } from '../procedures/procedure.ts'
import {
  CallToolInput,
  CallToolOutput,
  Connector,
  ConnectorInput,
  CreateConnectorInput,
  FinishSignInInput,
  ListConnectorsInput,
  ListConnectorsOutput,
  ListServersOutput,
  ListToolsOutput,
  SignInInput,
  SignInOutput,
  UpdateConnectorInput,
} from './connector-schema.ts'

const tags = ['Connectors']
const changing = ['manage', 'connectors'] as const
const badParameter = 'A parameter is invalid.'
const notFound = 'The connector was not found.'
const busy = 'The maximum number of connector checks and calls of the caller is already in progress.'
const tooOften =
  'The caller exceeded the limit on connector checks and calls. `Retry-After` states when the next one is allowed.'
const bodyResponses = {
  400: 'The body is invalid.',
  403: 'The caller lacks permission.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
}

export const connectorsRouter = (connectors: ConnectorParts) =>
  router({
    create: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/connectors',
          operationId: 'createConnector',
          tags,
          summary: 'Connect an MCP server',
          description:
            'To make its tools available to an agent, send `connectorIds` with a task or a session. The server is not contacted until the connector is tested or used.',
          protect: true,
          successDescription: 'The new connector.',
          errorResponses: {
            ...bodyResponses,
            409: 'The name is taken, or the account already has the maximum number of connectors.',
          },
        },
      })
      .input(CreateConnectorInput)
      .output(Connector)
      .mutation(
        withWrite(changing, ({ ctx, input }) => createConnector(connectors, { input, userId: ctx.caller.userId })),
      ),

    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/connectors',
          operationId: 'listConnectors',
          tags,
          summary: "List the caller's connectors, newest first",
          description: 'A page contains at most 1 MB of connectors, so it can be shorter than `limit`.',
          protect: true,
          successDescription: 'One page of connectors and the total.',
          errorResponses: { 400: badParameter },
        },
      })
      .input(ListConnectorsInput)
      .output(ListConnectorsOutput)
      .query(
        withScope('read', async ({ ctx, input }) => {
          const { userId } = ctx.caller
          await pageTurn(userId)
          return await listConnectors(connectors, { ...input, userId, bytesMax: pageBytesOf(ctx) })
        }),
      ),

    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/connectors/{connectorId}',
          operationId: 'getConnector',
          tags,
          summary: 'Get a connector',
          description: 'The status is the result of the last check. Secrets are never returned.',
          protect: true,
          successDescription: 'The connector, without its secrets.',
          errorResponses: { 400: badParameter, 404: notFound },
        },
      })
      .input(ConnectorInput)
      .output(Connector)
      .query(withScope('read', ({ ctx, input }) => getConnector(connectors, { ...input, userId: ctx.caller.userId }))),

    update: procedure
      .meta({
        openapi: {
          method: 'PATCH',
          path: '/api/connectors/{connectorId}',
          operationId: 'updateConnector',
          tags,
          summary: 'Change a connector, or restrict its tools',
          description: 'Omitted fields stay unchanged.',
          protect: true,
          successDescription: 'The updated connector.',
          errorResponses: {
            ...bodyResponses,
            404: notFound,
            409: 'The name is taken, or another request changed the connector.',
          },
        },
      })
      .input(UpdateConnectorInput)
      .output(Connector)
      .mutation(
        withWrite(changing, ({ ctx, input }) => updateConnector(connectors, { input, userId: ctx.caller.userId })),
      ),

    delete: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/connectors/{connectorId}',
          operationId: 'deleteConnector',
          tags,
          summary: 'Delete a connector with its secrets',
          description:
            'Queued tasks that use the connector fail and are refunded. Messages in sessions that use it are rejected.',
          protect: true,
          successDescription: 'The connector was deleted.',
          errorResponses: { 400: badParameter, 403: 'The caller lacks permission.', 404: notFound },
        },
      })
      .input(ConnectorInput)
      .output(Confirmation)
      .mutation(
        withWrite(changing, async ({ ctx, input }) => {
          await deleteConnector(connectors, { ...input, userId: ctx.caller.userId })
          return { message: 'Connector deleted' }
        }),
      ),

    test: procedure
      .meta({
        isBodyOptional: true,
        openapi: {
          method: 'POST',
          path: '/api/connectors/{connectorId}/test',
          operationId: 'testConnector',
          tags,
          summary: 'Test a connector',
          description:
            'Connects to the server and lists its tools. If that fails, the status is `failed` and `statusMessage` states the reason.',
          protect: true,
          successDescription: 'The connector with its new status.',
          errorResponses: { ...bodyResponses, 404: notFound, 409: busy, 429: tooOften },
        },
      })
      .input(ConnectorInput)
      .output(Connector)
      .mutation(
        withWrite('execute', ({ ctx, input }) => testConnector(connectors, { ...input, userId: ctx.caller.userId })),
      ),

    signIn: procedure
      .meta({
        isBodyOptional: true,
        openapi: {
          method: 'POST',
          path: '/api/connectors/{connectorId}/sign-in',
          operationId: 'signInConnector',
          tags,
          summary: 'Start a sign-in for a connector',
          description:
            "For connectors with the auth type `oauth`. Open `authorizationUrl` in the user's browser, which must be logged in to the console. After the sign-in, the browser returns to the connector's page. With a platform key, the browser returns to `returnUrl`, and the product finishes the sign-in. Earlier unfinished sign-ins become invalid.",
          protect: true,
          successDescription: 'The URL to open in the browser.',
          errorResponses: {
            ...bodyResponses,
            404: notFound,
            409: 'The maximum number of connector checks and calls of the caller is already in progress, or another request changed the connector.',
            424: 'The server does not offer a usable sign-in.',
            429: tooOften,
          },
        },
      })
      .input(SignInInput)
      .output(SignInOutput)
      .mutation(
        withWrite(changing, ({ ctx, input }) => {
          if (!connectors.origins.mayLogIn) {
            throw new ErrandError(
              'FORBIDDEN',
              'Signing in to a connector requires HTTPS. Ask the operator to set ERRAND_BASE_URL to an https URL.',
            )
          }
          return signIn(connectors, {
            ...input,
            caller: ctx.caller,
            baseUrl: connectors.origins.baseUrlFor(ctx.request),
          })
        }),
      ),

    finishSignIn: procedure
      .meta({
        openapi: {
          method: 'PUT',
          path: '/api/connectors/{connectorId}/sign-in',
          operationId: 'finishConnectorSignIn',
          tags,
          summary: 'Finish a sign-in for a connector (platforms)',
          description:
            "Call this on behalf of the user who is logged in to the product's page, so that nobody can finish another user's sign-in. The browser brings `signIn` in the URL of that page.",
          protect: true,
          successDescription: 'The connector, which can be used now.',
          errorResponses: {
            ...bodyResponses,
            403: 'The caller is not a platform key with the `act` and `connectors` scopes that acts on behalf of the user.',
            404: notFound,
            409: 'The sign-in has expired or is already finished.',
            424: 'The user or the authorization server rejected the sign-in.',
          },
        },
      })
      .input(FinishSignInInput)
      .output(Connector)
      .mutation(
        withWrite('connectors', ({ ctx, input }) => finishProductSignIn(connectors, { ...input, caller: ctx.caller })),
      ),

    signOut: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/connectors/{connectorId}/sign-in',
          operationId: 'signOutConnector',
          tags,
          summary: 'Sign out of a connector',
          description:
            'Deletes its tokens and revokes them if the authorization server supports that. The connector then needs a new sign-in.',
          protect: true,
          successDescription: 'The tokens were deleted.',
          errorResponses: { 400: badParameter, 403: 'The caller lacks permission.', 404: notFound },
        },
      })
      .input(ConnectorInput)
      .output(Confirmation)
      .mutation(
        withWrite(changing, async ({ ctx, input }) => {
          const isRevoked = await signOut(connectors, { ...input, userId: ctx.caller.userId })
          return { message: isRevoked ? 'Signed out, and the tokens were revoked' : 'Signed out' }
        }),
      ),

    tools: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/connectors/{connectorId}/tools',
          operationId: 'listConnectorTools',
          tags,
          summary: "List the tools of a connector's server",
          description: "Connects to the server with the user's secrets, so an API key needs the `execute` scope.",
          protect: true,
          successDescription: 'The tools, at most 500.',
          errorResponses: {
            400: badParameter,
            403: 'The caller lacks permission.',
            404: notFound,
            409: busy,
            424: 'The server cannot be used.',
            429: tooOften,
          },
        },
      })
      .input(ConnectorInput)
      .output(ListToolsOutput)
      .query(withScope('execute', ({ ctx, input }) => listTools(connectors, { ...input, userId: ctx.caller.userId }))),

    callTool: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/connectors/{connectorId}/call',
          operationId: 'callConnectorTool',
          tags,
          summary: "Call a tool of a connector's server",
          description:
            "Calls one of the connector's allowed tools without an agent, to try it. The call is free and creates no task. It can take up to a minute. If the request fails, the tool may have run anyway.",
          protect: true,
          successDescription: "The tool's result, which can be an error of the tool.",
          errorResponses: {
            ...bodyResponses,
            400: "The body is invalid, or the arguments do not match the tool's input schema.",
            404: notFound,
            409: busy,
            424: 'The server cannot be used.',
            429: tooOften,
          },
        },
      })
      .input(CallToolInput)
      .output(CallToolOutput)
      .mutation(
        withWrite('execute', ({ ctx, input }) => {
          holdAnswer(ctx)
          return callTool(connectors, { ...input, userId: ctx.caller.userId })
        }),
      ),

    servers: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/connector-servers',
          operationId: 'listConnectorServers',
          tags,
          summary: 'List the MCP servers provided by the operator',
          description: 'To use a server, create a connector with its id as `server`.',
          protect: true,
          successDescription: 'One page of servers and the total.',
          errorResponses: { 400: badParameter },
        },
      })
      .input(ListConnectorsInput)
      .output(ListServersOutput)
      .query(withScope('read', ({ input }) => listServers(connectors, input))),
  })
