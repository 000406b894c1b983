import { expect, test } from 'vitest'
import { Catalogue } from '../../../server/agents/config/catalogue.ts'
import { ConfigError } from '../../../server/kernel/settings.ts'
import type { LoginConfig } from '../../../server/agents/config/service-config.ts'
import { agentEnvironment, resolveLogin } from '../../../server/app/config.ts'

const corp = { id: 'corp', name: 'Corp', issuer: 'https://corp.example', clientId: 'errand' }
const parse = (login: LoginConfig) => new Catalogue({ agents: [], login }, null).loginProviders
const parseOne = (changes: object) => parse({ providers: [{ ...corp, ...changes }] })

test('a provider needs id, name, issuer and client id; other fields have safe defaults', () => {
  expect(parse({})).toEqual([])
  expect(parse({ providers: [corp] })).toEqual([
    { ...corp, scopes: ['openid', 'email', 'profile'], createAccounts: false },
  ])
})

test('a provider error names the invalid field', () => {
  const wrong: [changes: object, field: string][] = [
    [{ issuer: 'corp.example' }, 'issuer'],
    [{ issuer: '' }, 'issuer'],
    [{ issuer: undefined }, 'issuer'],
    [{ issuer: 7 }, 'issuer'],
    [{ issuer: 'http://corp.example' }, 'issuer'],
    [{ issuer: 'http://127.0.0.1.corp.example' }, 'issuer'],
    [{ issuer: 'http://localhost.corp.example' }, 'issuer'],
    [{ issuer: 'http://10.0.0.1' }, 'issuer'],
    [{ issuer: 'ftp://127.0.0.1' }, 'issuer'],
    [{ issuer: 'javascript:alert(1)' }, 'issuer'],
    [{ id: 'a/b' }, 'id'],
    [{ id: '' }, 'id'],
    [{ name: '' }, 'name'],
    [{ clientId: '' }, 'clientId'],
    [{ clientId: undefined }, 'clientId'],
    [{ clientSecret: '' }, 'clientSecret'],
    [{ createAccounts: 'yes' }, 'createAccounts'],
    [{ emailDomains: 'example.com' }, 'emailDomains'],
    [{ scopes: 'openid' }, 'scopes'],
    [{ scopes: ['email'] }, 'scopes'],
  ]
  for (const [changes, field] of wrong) {
    const named = [...messageOf(() => parseOne(changes)).matchAll(/login\.providers\[0\]\.(\w+)[^;]*: /g)].map(
      ([, name]) => name,
    )
    expect([changes, ...new Set(named)]).toEqual([changes, field])
  }
  expect(() => parseOne({ secret: 'misnamed' })).toThrow('login.providers[0]')
})

function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return ''
}

test('allows an http issuer only on the local machine', () => {
  for (const issuer of [
    'http://localhost:9000',
    'http://127.0.0.1:9000',
    'http://127.9.9.9',
    'http://[::1]:9000/realm',
  ]) {
    expect(parseOne({ issuer })).toMatchObject([{ issuer }])
  }
})

test('rejects two providers with the same id', () => {
  expect(() => parse({ providers: [corp, { ...corp, issuer: 'https://other.example' }] })).toThrow(
    'login.providers: the id "corp" is used twice',
  )
})

test('the environment adds a provider to those in the config file', () => {
  expect(resolveLogin({ providers: [corp] }, {})).toEqual({ providers: [corp] })
  expect(resolveLogin({ providers: [corp] }, { ERRAND_OIDC_ISSUER: '' })).toEqual({ providers: [corp] })
  const env = { ERRAND_OIDC_ISSUER: 'https://idp.example/realm', ERRAND_OIDC_CLIENT_ID: 'errand' }
  const added = {
    id: 'sso',
    name: 'idp.example',
    issuer: 'https://idp.example/realm',
    clientId: 'errand',
    createAccounts: false,
  }
  expect(resolveLogin({ providers: [corp] }, env)).toEqual({ providers: [corp, added] })
  const full = {
    ...env,
    ERRAND_OIDC_CLIENT_SECRET: 'a secret',
    ERRAND_OIDC_NAME: 'Our directory',
    ERRAND_OIDC_CREATE_ACCOUNTS: 'true',
    ERRAND_OIDC_EMAIL_DOMAINS: 'Example.com, example.org',
  }
  const resolved = resolveLogin({}, full)
  expect(resolved).toEqual({
    providers: [
      {
        ...added,
        name: 'Our directory',
        clientSecret: 'a secret',
        createAccounts: true,
        emailDomains: ['Example.com', 'example.org'],
      },
    ],
  })
  expect(parse(resolved)).toMatchObject([{ emailDomains: ['example.com', 'example.org'] }])
})

test('an environment error names the invalid variable', () => {
  const env = { ERRAND_OIDC_ISSUER: 'https://idp.example', ERRAND_OIDC_CLIENT_ID: 'errand' }
  const wrong: [changes: NodeJS.ProcessEnv, text: string][] = [
    [{ ERRAND_OIDC_CLIENT_ID: undefined }, 'ERRAND_OIDC_CLIENT_ID: must be set if ERRAND_OIDC_ISSUER is set'],
    [{ ERRAND_OIDC_CLIENT_ID: '' }, 'ERRAND_OIDC_CLIENT_ID: must be set if ERRAND_OIDC_ISSUER is set'],
    [{ ERRAND_OIDC_ISSUER: 'idp.example' }, 'ERRAND_OIDC_ISSUER: must be an https URL'],
    [{ ERRAND_OIDC_CREATE_ACCOUNTS: 'yes' }, 'ERRAND_OIDC_CREATE_ACCOUNTS: must be true or false'],
  ]
  for (const [changes, text] of wrong) expect(() => resolveLogin({}, { ...env, ...changes })).toThrow(text)
})

test('rejects a config provider with the id of the environment provider', () => {
  const env = { ERRAND_OIDC_ISSUER: 'https://idp.example', ERRAND_OIDC_CLIENT_ID: 'errand' }
  expect(() => parse(resolveLogin({ providers: [{ ...corp, id: 'sso' }] }, env))).toThrow('the id "sso" is used twice')
})

test('agents do not see the client secret', () => {
  const env = { ERRAND_OIDC_CLIENT_SECRET: 'a secret', PATH: '/bin' }
  expect(agentEnvironment(env)).toEqual({ PATH: '/bin' })
})
