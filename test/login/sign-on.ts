import { expect } from 'vitest'
import type { LoginProviderConfig } from '../../server/agents/config/define-config.ts'
import { must } from '../../server/kernel/assert.ts'
import testAgents from '../support/test-agents.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { TestBrowser, type Page } from './oidc-browser.ts'
import { clientId, clientSecret, OidcServer } from './oidc-server.ts'

type Service = Parameters<typeof startService>[0]
type Opened = Parameters<OidcServer['open']>[0]

type SignOnOptions = {
  /** Settings of the provider in the service's configuration. */
  login?: Partial<LoginProviderConfig>
  service?: Service
  provider?: Omit<Opened, 'redirectUris'>
}

export type SignOn = {
  /** Provider named `corp` in the service. */
  provider: OidcServer
  /** A second provider, named `other`. */
  other: OidcServer
  service: TestService
  stop(): Promise<void>
}

export async function startSignOn({ login, provider: opened, service: options }: SignOnOptions = {}): Promise<SignOn> {
  const [provider, other] = [await OidcServer.listen(), await OidcServer.listen()]
  const providers = [
    { id: 'corp', name: 'Corp', issuer: provider.issuer, clientId, clientSecret, ...login },
    { id: 'other', name: 'Other', issuer: other.issuer, clientId, clientSecret, ...login },
  ]
  const service = await startService({ ...options, config: { ...testAgents, login: { providers } } })
  const bases = [service.url, service.url.replace('127.0.0.1', 'localhost'), options?.baseUrl].filter(
    (base) => base !== undefined,
  )
  provider.open({ redirectUris: bases.map((base) => `${base}/login/oidc/corp/callback`), ...opened })
  other.open({ redirectUris: bases.map((base) => `${base}/login/oidc/other/callback`), ...opened })
  const stop = async () => {
    await service.stop()
    await provider.stop()
    await other.stop()
  }
  return { provider, other, service, stop }
}

/** Logs in at the provider and continues to the final page of the service. */
export async function signOn(
  { service }: { service: TestService },
  person: string,
  providerId = 'corp',
): Promise<{ browser: TestBrowser; page: Page }> {
  const browser = new TestBrowser({ person })
  const page = await browser.visit(`${service.url}/login/oidc/${providerId}`, { until: isPage })
  return { browser, page }
}

/** Logs in at the provider and returns the service's user; fails without one. */
export async function signOnAs(on: SignOn, person: string, providerId = 'corp'): Promise<any> {
  const { browser, page } = await signOn(on, person, providerId)
  expect(page.next?.href).toBe(`${on.service.url}/`)
  return must(await whoIs(on, browser), 'logged in')
}

/** Logs in at the provider and returns the redirect URL, unopened. */
export async function comeBack(
  { service }: { service: TestService },
  browser: TestBrowser,
  providerId = 'corp',
): Promise<URL> {
  const { next } = await browser.visit(`${service.url}/login/oidc/${providerId}`, { until: isCallback })
  if (!next) throw new Error('the provider did not send the browser back')
  return next
}

const isCallback = (url: URL) => url.pathname.endsWith('/callback')
/** Whether this is the final page of a single sign-on, in the console. */
const isPage = (url: URL) => /^\/(?:$|login$|tasks)/.test(url.pathname)

/** Returns the browser's user; undefined without a login. */
export async function whoIs({ service }: { service: TestService }, browser: TestBrowser): Promise<any> {
  const { status, text } = await browser.step(`${service.url}/api/account`)
  return status === 200 ? JSON.parse(text) : undefined
}

/** Expects that the single sign-on was rejected for that reason, without a login. */
export function expectRefused({ next, setCookies, status }: Page, reason: string): void {
  expect({ status, next: next && next.pathname + next.search }).toEqual({ status: 303, next: `/login?error=${reason}` })
  expect(setCookies.filter((line) => /^(?:__Host-)?errand=/.test(line))).toEqual([])
}

export async function expectRefusal(on: SignOn, person: string, reason: string): Promise<void> {
  const { browser, page } = await signOn(on, person)
  expectRefused(page, reason)
  expect(page.next?.origin).toBe(on.service.url)
  expect(await whoIs(on, browser)).toBeUndefined()
}
