import pino from 'pino'
import { expect, test } from 'vitest'
import testAgents from '../../support/test-agents.ts'
import { startService } from '../../support/test-service.ts'
import { TestBrowser } from '../oidc-browser.ts'
import { clientId, clientSecret } from '../oidc-server.ts'
import { RogueProvider, signRs256, strangersKey } from '../rogue-provider.ts'
import { expectRefused, startSignOn } from '../sign-on.ts'

function createLog(): { log: pino.Logger; lines: string[]; warnings: () => string[] } {
  const lines: string[] = []
  const warnings = () => lines.filter((line) => line.includes('"level":40') && line.includes('single sign-on'))
  return { lines, log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }), warnings }
}

test('logs why a login failed, without any secrets of the login flow', async () => {
  const { lines, log, warnings } = createLog()
  const on = await startSignOn({ service: { log }, provider: { tellsInIdToken: false } })
  const { provider, service } = on
  provider.people.set('subject-ada', { email: 'ada@example.com', email_verified: true })
  await service.createPerson({ email: 'ada@example.com' })
  const secrets = new Set<string>([clientSecret, encodeURIComponent(clientSecret)])
  const attempt = async (change: (answer: URL) => void, path?: RegExp): Promise<void> => {
    const browser = new TestBrowser({ person: 'subject-ada' })
    const begun = await browser.step(`${service.url}/login/oidc/corp`)
    for (const name of ['state', 'nonce', 'code_challenge']) secrets.add(begun.next!.searchParams.get(name)!)
    secrets.add(browser.cookie('errand-oidc')!)
    const { next: answer } = await browser.visit(begun.next!, { until: (url) => url.pathname.endsWith('/callback') })
    secrets.add(answer!.searchParams.get('code')!)
    change(answer!)
    provider.downAt = path
    const page = await browser.step(answer!)
    provider.downAt = undefined
    for (const { value } of browser.cookies) secrets.add(value)
    if (page.next!.search !== '') expectRefused(page, 'oidc-failed')
  }
  await attempt(() => {})
  expect(warnings()).toEqual([])
  await attempt((answer) => answer.searchParams.set('state', 'another'))
  await attempt((answer) => answer.searchParams.set('iss', 'https://another.example'))
  await attempt((answer) => answer.searchParams.set('code', 'another'))
  await attempt((answer) => answer.searchParams.set('error', 'server_error'))
  await attempt(() => {}, /^\/token/)
  await attempt(() => {}, /^\/me/)
  for (const body of provider.tokenBodies) {
    secrets.add(body.get('code_verifier')!)
    secrets.add(body.get('code')!)
  }
  for (const header of provider.tokenAuthorizations) secrets.add(header!.slice('Basic '.length))
  for (const token of provider.accessTokens) secrets.add(token)
  secrets.delete('another')
  expect(provider.accessTokens.size).toBeGreaterThan(0)
  expect(warnings().length).toBeGreaterThanOrEqual(6)
  const text = lines.join('')
  expect(text).toContain('single sign-on failed')
  expect([...secrets].filter((secret) => secret.length < 8)).toEqual([])
  expect([...secrets].filter((secret) => text.includes(secret))).toEqual([])
  await on.stop()
})

test('does not log rejected provider responses', async () => {
  const rogue = await RogueProvider.listen()
  const { lines, log, warnings } = createLog()
  const providers = [{ id: 'corp', name: 'Corp', issuer: rogue.issuer, clientId, clientSecret }]
  const service = await startService({ log, config: { ...testAgents, login: { providers } } })
  const secrets: string[] = [clientSecret, 'an-access-token']
  const made = (token: string) => {
    secrets.push(token, ...token.split('.').slice(1))
    return token
  }
  const changes: (() => void)[] = [
    () => (rogue.idToken = (claims) => made(signRs256({ ...claims, nonce: 'another' }))),
    () => (rogue.idToken = (claims) => made(signRs256({ ...claims, aud: 'another' }))),
    () => (rogue.idToken = (claims) => made(signRs256(claims, { key: strangersKey }))),
    () => (rogue.idToken = (claims) => `${made(signRs256(claims))}.more`),
    () => (rogue.tokens = (tokens) => ({ ...tokens, expires_in: 'soon' })),
    () => (rogue.tokens = (tokens) => ({ ...tokens, token_type: 7 })),
    () => (rogue.tokens = ({ access_token: code, ...tokens }) => ({ ...tokens, refresh_token: code })),
  ]
  for (const change of changes) {
    change()
    const browser = new TestBrowser()
    const begun = await browser.step(`${service.url}/login/oidc/corp`)
    for (const name of ['state', 'nonce', 'code_challenge']) secrets.push(begun.next!.searchParams.get(name)!)
    expectRefused(await browser.visit(begun.next!, { until: (url) => url.pathname === '/login' }), 'oidc-failed')
  }
  expect(warnings()).toHaveLength(changes.length)
  const text = lines.join('')
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
  await service.stop()
  await rogue.stop()
})
