import { expect } from 'vitest'
import { expectStatus, signUp, type SignedIn } from '../api/signed-in.ts'
import { startWorld, type World } from '../connectors/run-checks.ts'
import { TestBrowser, type Page } from '../login/oidc-browser.ts'
import { parseUsd } from '../../server/kernel/money.ts'
import type { Person, TestService } from '../support/test-service.ts'
import { OAuthServer } from './oauth-server.ts'
import { startProtectedServer, type ProtectedServer } from './protected-server.ts'

export type SignInWorld = World & { oauth: OAuthServer; mcp: ProtectedServer }
/** A user with a key and a browser login. */
export type Owner = Person & SignedIn & { tab: TestBrowser }

type Options = {
  world?: Parameters<typeof startWorld>[0]
  oauth?: Parameters<typeof OAuthServer.start>[0]
  mcp?: Partial<Parameters<typeof startProtectedServer>[0]>
}

/** Starts a service, an MCP server whose tools require a sign-in, and its authorization server. */
export async function startSignInWorld(options: Options = {}): Promise<SignInWorld> {
  const oauth = await OAuthServer.start(options.oauth)
  const mcp = await startProtectedServer({ issuer: () => oauth.issuer, ...options.mcp })
  mcp.check = (token) => oauth.isGood(token, mcp.url)
  const world = await startWorld({ privateHosts: ['127.0.0.1'], ...options.world })
  const stop = async () => {
    await world.stop()
    await mcp.stop()
    await oauth.stop()
  }
  return { ...world, oauth, mcp, stop }
}

export async function createOwner(service: TestService): Promise<Owner> {
  const signedIn = await signUp(service)
  const { userId } = signedIn
  const amount = parseUsd('10.0000')!
  await service.app.store.credit({ userId, amount, description: 'Test balance', idempotencyKey: null })
  return { ...signedIn, key: await service.createKey(userId), tab: tabOf(signedIn) }
}

export function tabOf({ browser }: Pick<SignedIn, 'browser'>): TestBrowser {
  const tab = new TestBrowser()
  tab.cookies.push({ name: 'errand', value: browser.token, host: '127.0.0.1', path: '/', isSecure: false })
  return tab
}

let connectors = 0

export async function createConnector(
  { mcp, service }: Pick<SignInWorld, 'mcp' | 'service'>,
  { key }: Person,
  changes: object = {},
): Promise<string> {
  const connector = { name: `OAuth ${++connectors}`, url: mcp.url, auth: { type: 'oauth' }, ...changes }
  return (await expectStatus(200, service.post('/api/connectors', connector, { key }))).id
}

/** Starts a sign-in and returns the URL that the owner's browser is sent to. */
export async function begin(service: TestService, { browser }: Owner, connectorId: string): Promise<URL> {
  const begun = await expectStatus(200, browser.post(`/api/connectors/${connectorId}/sign-in`, {}))
  expect(Date.parse(begun.expiresAt)).toBeGreaterThan(Date.now())
  return new URL(begun.authorizationUrl)
}

/** Returns the URL at which the browser returns to the service, without opening it. */
export async function comeBack({ tab }: Pick<Owner, 'tab'>, address: URL, service: TestService): Promise<URL> {
  const page = await tab.visit(address, { until: ({ origin }) => origin === service.url })
  if (!page.next) throw new Error(`not sent back: ${page.status} ${page.text}`)
  return page.next
}

/** Completes the sign-in and returns its result, from the URL of the final page. */
export async function endOf({ tab }: Pick<Owner, 'tab'>, address: URL): Promise<string | null> {
  const page: Page = await tab.step(address)
  expect(page.next?.pathname).toBe('/settings/connectors')
  return page.next!.searchParams.get('signIn')
}

export async function signIn(service: TestService, owner: Owner, connectorId: string): Promise<void> {
  const back = await comeBack(owner, await begin(service, owner, connectorId), service)
  expect(await endOf(owner, back)).toBe('done')
}

export async function signedIn(world: SignInWorld): Promise<{ owner: Owner; connectorId: string }> {
  const owner = await createOwner(world.service)
  const connectorId = await createConnector(world, owner)
  await signIn(world.service, owner, connectorId)
  return { owner, connectorId }
}

export async function read(service: TestService, { key }: Person, connectorId: string): Promise<any> {
  return await expectStatus(200, service.get(`/api/connectors/${connectorId}`, key))
}

export async function check(service: TestService, { key }: Person, connectorId: string): Promise<any> {
  return await expectStatus(200, service.post(`/api/connectors/${connectorId}/test`, {}, { key }))
}
