import { expect, test } from 'vitest'
import { expectStatus } from '../../../api/signed-in.ts'
import { startServer, stopAll } from '../../../connectors/guarded-server.ts'
import {
  begin,
  check,
  comeBack,
  createConnector,
  createOwner,
  endOf,
  read,
  signedIn,
  startSignInWorld,
  type SignInWorld,
} from '../../sign-in-world.ts'

// Authorization servers chosen by a user, which may send anything.

/** Changes the format of the token endpoint's valid responses. */
function alter(
  { oauth }: SignInWorld,
  change: (tokens: Record<string, unknown>) => [type: string, body: string, status?: number],
) {
  oauth.change = (text) => change(JSON.parse(text) as Record<string, unknown>)
}

test('accepts form-encoded token responses, also for refreshes', async () => {
  const world = await startSignInWorld({ oauth: { tokenSeconds: 1 } })
  const { oauth, service } = world
  const form = 'application/x-www-form-urlencoded'
  alter(world, (tokens) => [form, String(new URLSearchParams(tokens as Record<string, string>))])
  const { connectorId, owner } = await signedIn(world)
  await expect
    .poll(
      async () => {
        expect(await check(service, owner, connectorId)).toMatchObject({ status: 'ok' })
        return oauth.grants.includes('refresh_token 200')
      },
      { timeout: 10_000, interval: 300 },
    )
    .toBe(true)
  await world.stop()
})

const noSignIn: Record<string, { answer: [string, string, number?]; message: RegExp }> = {
  'an error with status 200': {
    answer: ['application/json', '{"error":"bad_verification_code","error_description":"The code is wrong."}'],
    message: /returned an error \(bad_verification_code: The code is wrong\.\)/,
  },
  'a token of an unsupported type': {
    answer: ['application/json', '{"access_token":"abc","token_type":"DPoP"}'],
    message: /not a bearer token/,
  },
  'a token with a line break': {
    answer: ['application/json', String.raw`{"access_token":"abc\r\nX-Evil: 1","token_type":"bearer"}`],
    message: /visible ASCII/,
  },
  'HTML instead of JSON': { answer: ['text/html', '<p>Hello</p>'], message: /is invalid/ },
  'a server error': { answer: ['text/plain', 'oops', 500], message: /is invalid/ },
  'too large a body': { answer: ['application/json', `{"a":"${'x'.repeat(300_000)}"}`], message: /more than 0\.25 MB/ },
}

test.for(Object.entries(noSignIn))(
  'a token endpoint that answers with %s does not complete the sign-in',
  async ([, { answer, message }]) => {
    const world = await startSignInWorld()
    const { service } = world
    alter(world, () => answer)
    const owner = await createOwner(service)
    const connectorId = await createConnector(world, owner)
    const back = await comeBack(owner, await begin(service, owner, connectorId), service)
    expect(await endOf(owner, back)).toBe('failed')
    expect(await read(service, owner, connectorId)).toMatchObject({
      status: 'needs_sign_in',
      statusMessage: expect.stringMatching(message),
    })
    await world.stop()
  },
)

test.for([302, 307, 308])('does not follow a redirect (%s) from the token endpoint', async (status) => {
  const world = await startSignInWorld()
  const { oauth, service } = world
  const inside = await startServer((response) => void response.end('{}'))
  const owner = await createOwner(service)
  const connectorId = await createConnector(world, owner)
  const back = await comeBack(owner, await begin(service, owner, connectorId), service)
  const location = `http://127.0.0.1:${inside.port}/token`
  oauth.rogue.set('/token', (_request, response) => response.writeHead(status, { location }).end())
  expect(await endOf(owner, back)).toBe('failed')
  expect(inside.requests).toEqual([])
  expect((await read(service, owner, connectorId)).statusMessage).toMatch(/unexpected HTTP status code/)
  await stopAll()
  await world.stop()
})

test('hides secrets that the token endpoint echoes in its error', async () => {
  const clientSecret = 'a-secret-of-the-client'
  const redirects: string[] = []
  const client = { client_id: 'given', client_secret: clientSecret, redirect_uris: redirects }
  const world = await startSignInWorld({
    oauth: { clients: [{ ...client, token_endpoint_auth_method: 'client_secret_post' }], registers: false },
  })
  const { oauth, service } = world
  redirects.push(`${service.url}/connectors/sign-in/callback`)
  oauth.forget()
  oauth.offer(['client_secret_post'])
  const owner = await createOwner(service)
  const auth = { type: 'oauth', clientId: 'given', clientSecret }
  const connectorId = await createConnector(world, owner, { auth })
  const back = await comeBack(owner, await begin(service, owner, connectorId), service)
  const shown: URLSearchParams[] = []
  oauth.rogue.set('/token', async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const form = new URLSearchParams(body)
    shown.push(form)
    const description = ['client_secret', 'code', 'code_verifier'].map((name) => form.get(name)).join(', ')
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: 'invalid_request', error_description: `Not known: ${description}.` }))
  })
  expect(await endOf(owner, back)).toBe('failed')
  expect(shown[0]?.get('client_secret')).toBe(clientSecret)
  expect((await read(service, owner, connectorId)).statusMessage).toContain('invalid_request: Not known: ..., ..., ...')
  await world.stop()
})

test('rejects a response from another issuer without sending the code anywhere', async () => {
  const world = await startSignInWorld()
  const { oauth, service } = world
  const owner = await createOwner(service)
  const connectorId = await createConnector(world, owner)
  for (const iss of ['https://evil.example.com', null]) {
    const back = await comeBack(owner, await begin(service, owner, connectorId), service)
    if (iss === null) back.searchParams.delete('iss')
    else back.searchParams.set('iss', iss)
    expect(await endOf(owner, back)).toBe('failed')
    expect((await read(service, owner, connectorId)).statusMessage).toMatch(/iss \(issuer\)/)
  }
  expect(oauth.grants).toEqual([])
  const denied = await begin(service, owner, connectorId)
  const back = new URL(denied.searchParams.get('redirect_uri')!)
  const answer = { error: 'access_denied', state: denied.searchParams.get('state')!, iss: oauth.issuer }
  back.search = String(new URLSearchParams(answer))
  expect(await endOf(owner, back)).toBe('denied')
  await world.stop()
})

type Metadata = Record<string, unknown>
const bad: Record<
  string,
  { server?: (own: Metadata) => Metadata; resource?: (url: string) => object; message: RegExp }
> = {
  'a different issuer': {
    server: (own) => ({ ...own, issuer: 'https://auth.example.com' }),
    message: /for a different issuer/,
  },
  'no PKCE': { server: ({ code_challenge_methods_supported: _, ...own }) => own, message: /PKCE/ },
  'PKCE in the clear only': {
    server: (own) => ({ ...own, code_challenge_methods_supported: ['plain'] }),
    message: /PKCE/,
  },
  'a javascript: URL as authorization endpoint': {
    server: (own) => ({ ...own, authorization_endpoint: 'javascript:alert(1)' }),
    message: /authorization endpoint is not an https URL/,
  },
  'a private authorization endpoint': {
    server: (own) => ({ ...own, authorization_endpoint: 'https://10.0.0.1/auth' }),
    message: /a private or unknown host/,
  },
  'a private registration endpoint': {
    server: (own) => ({ ...own, registration_endpoint: 'https://169.254.169.254/reg' }),
    message: /a private or unknown host/,
  },
  'no token endpoint': {
    server: ({ token_endpoint: _, ...own }) => own,
    message: /is invalid \(token_endpoint\)/,
  },
  'a different resource': {
    resource: () => ({ resource: 'https://mail.example.com/mcp', authorization_servers: ['https://auth.example.com'] }),
    message: /is for a different URL than the connector's/,
  },
  'an authorization server inside': {
    resource: (resource) => ({ resource, authorization_servers: ['https://192.168.0.1/'] }),
    message: /a private or unknown host/,
  },
  'an authorization server without TLS': {
    resource: (resource) => ({ resource, authorization_servers: ['http://auth.example.com/'] }),
    message: /not an https URL/,
  },
}

test.for(Object.entries(bad))(
  'starts no sign-in at a server whose metadata has %s',
  async ([, { message, resource, server }]) => {
    const world = await startSignInWorld({ ...(resource && { mcp: { metadata: resource } }) })
    const { oauth, service } = world
    if (server) {
      const own = (await (await fetch(`${oauth.issuer}/.well-known/openid-configuration`)).json()) as Metadata
      const said = JSON.stringify(server(own))
      oauth.rogue.set('/.well-known/', (_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(said),
      )
    }
    const owner = await createOwner(service)
    const connectorId = await createConnector(world, owner)
    const path = `/api/connectors/${connectorId}/sign-in`
    const refused = await expectStatus(424, owner.browser.post(path, {}))
    expect(refused).toMatchObject({ code: 'CONNECTOR_FAILED', message: expect.stringMatching(message) })
    expect(oauth.asked).not.toContain('POST /reg')
    await world.stop()
  },
)

test('a server without metadata is treated as its own authorization server', async () => {
  const world = await startSignInWorld({ mcp: { metadata: () => null, challenges: false } })
  const { mcp, service } = world
  const owner = await createOwner(service)
  const connectorId = await createConnector(world, owner)
  // The server does not register clients, not even at the path of the protocol's first revision.
  const refused = await expectStatus(424, owner.browser.post(`/api/connectors/${connectorId}/sign-in`, {}))
  expect(refused.message).toMatch(/is invalid/)
  expect(mcp.asked).toEqual(
    expect.arrayContaining([
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-authorization-server',
      'POST /register',
    ]),
  )
  await world.stop()
})
