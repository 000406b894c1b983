import { newSecretToken } from '../../server/auth/logins/login-token.ts'
import { must } from '../../server/kernel/assert.ts'
import type { Answer, TestService } from '../support/test-service.ts'
import { Browser } from './browser-login.ts'

export type SignedIn = { browser: Browser; userId: string; email: string }

type Who = { email?: string; isAdmin?: boolean; passwordHash?: string | null }

let people = 0

/** Creates a user and a logged-in browser without using a password. */
export async function signUp(service: TestService, who: Who = {}): Promise<SignedIn> {
  const { email = `signed-in-${++people}@example.com`, isAdmin = false, passwordHash = null } = who
  const created = await service.app.store.createUser({ email, passwordHash, isAdmin })
  if (created.outcome === 'refused') throw new Error(`${email} exists`)
  return { browser: await signIn(service, created.userId), userId: created.userId, email: email.toLowerCase() }
}

export async function signIn(service: TestService, userId: string): Promise<Browser> {
  const { token, tokenHash } = newSecretToken()
  const login = { userId, tokenHash, method: 'password', provider: null, userAgent: null, forget: null } as const
  must(await service.app.store.createLogin(login), 'a user who may log in')
  const browser = new Browser(service)
  browser.cookies.set('errand', token)
  return browser
}

export async function signUpAdmin(service: TestService, who: Omit<Who, 'isAdmin'> = {}): Promise<SignedIn> {
  return await signUp(service, { ...who, isAdmin: true })
}

export async function expectStatus(status: number, answer: Answer | Promise<Answer>): Promise<any> {
  const { body, status: given } = await answer
  if (given !== status) throw new Error(`${given} instead of ${status}: ${JSON.stringify(body)}`)
  return body
}
