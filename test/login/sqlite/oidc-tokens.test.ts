import { expect, test } from 'vitest'
import testAgents from '../../support/test-agents.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { clientId, clientSecret } from '../oidc-server.ts'
import { publicPem, RogueProvider, signHs256, signRs256, strangersKey, unsigned } from '../rogue-provider.ts'
import { expectRefused, signOn, whoIs } from '../sign-on.ts'

type Parts = { rogue: RogueProvider; service: TestService; failures: string[] }

/** Runs a test on a service with a provider whose responses the test controls, and an account of ada@example.com. */
async function withRogue(prove: (parts: Parts) => Promise<void>): Promise<void> {
  const rogue = await RogueProvider.listen()
  const provider = { id: 'corp', name: 'Corp', issuer: rogue.issuer, clientId, clientSecret }
  const failures: string[] = []
  const warn = ({ err }: { err?: Error }) => void failures.push(describe(err))
  const service = await startService({
    config: { ...testAgents, login: { providers: [provider] } },
    log: { debug() {}, info() {}, error() {}, warn },
  })
  await service.createPerson({ email: 'ada@example.com' })
  await prove({ rogue, service, failures })
  await service.stop()
  await rogue.stop()
}

function describe(error: unknown): string {
  return error instanceof Error ? [error.message, describe(error.cause)].join(' ').trim() : ''
}

async function expectIn({ service }: Parts): Promise<void> {
  const { browser } = await signOn({ service }, 'anybody')
  expect(await whoIs({ service }, browser)).toMatchObject({ email: 'ada@example.com' })
}

/** Expects that the login was rejected, with the reason in the log. */
async function expectOut({ failures, service }: Parts, reason: RegExp): Promise<void> {
  failures.length = 0
  const { browser, page } = await signOn({ service }, 'anybody')
  expectRefused(page, 'oidc-failed')
  expect(await whoIs({ service }, browser)).toBeUndefined()
  expect(failures).toEqual([expect.stringMatching(reason)])
}

const now = () => Math.floor(Date.now() / 1000)

test('accepts an ID token only with valid issuer, audience, expiry, nonce and subject', async () => {
  await withRogue(async (parts) => {
    const { rogue } = parts
    const wrong: [changes: Record<string, unknown>, reason: RegExp][] = [
      [{ nonce: 'the-nonce-of-another-flow' }, /"nonce"/],
      [{ nonce: undefined }, /"nonce"/],
      [{ aud: 'another-client' }, /"aud"/],
      [{ aud: ['another-client'] }, /"aud"/],
      [{ aud: [] }, /"aud"/],
      [{ aud: undefined }, /"aud"/],
      [{ aud: [clientId, 'another-client'] }, /"azp"|untrusted audiences/],
      [{ aud: [clientId, 'another-client'], azp: 'another-client' }, /"azp"|untrusted audiences/],
      [{ iss: 'https://another.example' }, /"iss"/],
      [{ iss: `${rogue.issuer}/` }, /"iss"/],
      [{ iss: undefined }, /"iss"/],
      [{ exp: now() - 120 }, /"exp"/],
      [{ exp: undefined }, /"exp"/],
      [{ nbf: now() + 120 }, /"nbf"/],
      [{ sub: undefined }, /"sub"/],
      [{ sub: '' }, /subject/],
      [{ sub: 7 }, /"sub"/],
    ]
    for (const [changes, reason] of wrong) {
      rogue.idToken = (claims) => signRs256({ ...claims, ...changes })
      await expectOut(parts, reason)
    }
    rogue.idToken = (claims) => signRs256(claims)
    await expectIn(parts)
  })
})

test('accepts an ID token only if signed by a key the issuer publishes', async () => {
  await withRogue(async (parts) => {
    const { rogue } = parts
    const wrong: [idToken: (claims: Record<string, unknown>) => unknown, reason: RegExp][] = [
      [(claims) => signRs256(claims, { key: strangersKey }), /signature/],
      [(claims) => signRs256(claims, { header: { kid: 'unknown' } }), /JWKS|key/],
      [(claims) => signRs256(claims).replace(/\.[^.]+$/, '.'), /signature|JWT/],
      [(claims) => withClaims(signRs256(claims), { ...claims, email: 'eve@example.com' }), /signature/],
      [unsigned, /unsupported|alg/],
      [(claims) => signHs256(claims, clientSecret), /unsupported|alg/],
      [(claims) => signHs256(claims, publicPem()), /unsupported|alg/],
      [() => 'not a token', /JWT/],
      [() => undefined, /id_token/],
      [() => null, /id_token/],
    ]
    for (const [idToken, reason] of wrong) {
      rogue.idToken = idToken
      await expectOut(parts, reason)
    }
    rogue.idToken = (claims) => signRs256(claims)
    await expectIn(parts)
  })
})

function withClaims(token: string, claims: object): string {
  const [header, , signature] = token.split('.')
  return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
}

test('uses userinfo claims only for the subject of the ID token', async () => {
  await withRogue(async (parts) => {
    const { rogue } = parts
    rogue.userinfo = { sub: 'subject-of-another', email: 'ada@example.com', email_verified: true }
    await expectOut(parts, /"sub"/)
    rogue.userinfo = { email: 'ada@example.com', email_verified: true }
    await expectOut(parts, /"sub"/)
    rogue.userinfo = { sub: 'subject-ada', email: 'ada@example.com', email_verified: true }
    await expectIn(parts)
  })
})

test('does not combine an email and email_verified from different responses', async () => {
  await withRogue(async (parts) => {
    const { rogue, service } = parts
    rogue.userinfo = { sub: 'subject-ada', email: 'ben@example.com', email_verified: true }
    rogue.idToken = (claims) => signRs256({ ...claims, email: 'ada@example.com' })
    expectRefused((await signOn({ service }, 'anybody')).page, 'email-unverified')
    rogue.userinfo = { sub: 'subject-ada', email: 'ada@example.com' }
    rogue.idToken = (claims) => signRs256({ ...claims, email_verified: true })
    expectRefused((await signOn({ service }, 'anybody')).page, 'email-unverified')
    expect(parts.failures).toEqual([])
  })
})

test('rejects a token response without a Bearer access token', async () => {
  await withRogue(async (parts) => {
    const { rogue } = parts
    rogue.tokens = (tokens) => ({ ...tokens, access_token: undefined })
    await expectOut(parts, /access_token/)
    rogue.tokens = (tokens) => ({ ...tokens, token_type: 'mac' })
    await expectOut(parts, /token_type/)
    rogue.tokens = (tokens) => tokens
    await expectIn(parts)
  })
})

test("rejects another issuer's discovery document and refetches it at the next login", async () => {
  await withRogue(async (parts) => {
    const { rogue } = parts
    rogue.document = (document) => ({ ...document, issuer: 'https://another.example' })
    await expectOut(parts, /issuer/)
    rogue.document = (document) => document
    await expectIn(parts)
  })
})

test('rejects a callback with a wrong issuer, or without an issuer that the provider promised', async () => {
  await withRogue(async (parts) => {
    const { rogue } = parts
    rogue.answer = (parameters) => parameters.set('iss', 'https://another.example')
    await expectOut(parts, /"iss"/)
    rogue.answer = () => {}
    await expectIn(parts)
  })
  await withRogue(async (parts) => {
    const { rogue } = parts
    rogue.document = (document) => ({ ...document, authorization_response_iss_parameter_supported: true })
    await expectOut(parts, /"iss"/)
    rogue.answer = (parameters) => parameters.set('iss', rogue.issuer)
    await expectIn(parts)
  })
})
