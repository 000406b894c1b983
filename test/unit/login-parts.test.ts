import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LastUses } from '../../server/auth/last-uses.ts'
import { ServiceCookie } from '../../server/auth/logins/login-cookie.ts'
import { hashSecretToken, newSecretToken } from '../../server/auth/logins/login-token.ts'
import { OwnOrigins } from '../../server/auth/logins/own-origin.ts'
import { assertNotObvious, hashPassword, isPassword, withHashRoom } from '../../server/auth/logins/passwords.ts'
import { ErrandError } from '../../server/kernel/errors.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Use = { id: string; at: number; addresses: { address: string; at: number }[] }

function recordedUses({ fails = false } = {}) {
  const written: Use[][] = []
  const warnings: string[] = []
  const quiet = () => {}
  const write = async (uses: Use[]) => {
    written.push(uses)
    if (fails) throw new Error('the disk is full')
  }
  const log = { debug: quiet, info: quiet, error: quiet, warn: (_fields: object, text: string) => warnings.push(text) }
  return { uses: new LastUses({ what: 'logins', write, log }), written, warnings }
}

test('writes the latest use of each login every ten seconds in one batch', async () => {
  const { uses, written } = recordedUses()
  uses.used('login_a', 1)
  uses.used('login_b', 2)
  uses.used('login_a', 3)
  await vi.advanceTimersByTimeAsync(9_999)
  expect(written).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(written).toEqual([
    [
      { id: 'login_a', at: 3, addresses: [] },
      { id: 'login_b', at: 2, addresses: [] },
    ],
  ])
  uses.used('login_b', 4)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(written.slice(1)).toEqual([[{ id: 'login_b', at: 4, addresses: [] }]])
  await uses.close()
})

test('writes the last ten addresses of a credential with their times', async () => {
  const { uses, written } = recordedUses()
  for (let n = 1; n <= 12; n++) uses.used('pkey_a', n, `10.0.0.${n}`)
  uses.used('pkey_a', 13, '10.0.0.4')
  uses.used('pkey_a', 14, '')
  await uses.close()
  const expected = [3, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => ({ address: `10.0.0.${n}`, at: n }))
  expect(written).toEqual([[{ id: 'pkey_a', at: 14, addresses: [...expected, { address: '10.0.0.4', at: 13 }] }]])
})

test('writes nothing if there are no uses; close writes the remaining uses, and nothing after it', async () => {
  const { uses, written } = recordedUses()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(written).toEqual([])
  uses.used('login_a', 1)
  await uses.close()
  expect(written).toEqual([[{ id: 'login_a', at: 1, addresses: [] }]])
  uses.used('login_a', 2)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(written).toHaveLength(1)
})

test('logs a failed write without ending the process', async () => {
  const { uses, warnings, written } = recordedUses({ fails: true })
  uses.used('login_a', 1)
  await vi.advanceTimersByTimeAsync(10_000)
  expect([written.length, warnings]).toEqual([1, ['could not record the last use of logins']])
  await uses.close()
})

const cookieOf = (baseUrl: string) => new ServiceCookie('errand', new OwnOrigins(() => baseUrl))
const read = (cookie: ServiceCookie, header?: string) =>
  cookie.read({ headers: header === undefined ? {} : { cookie: header } } as IncomingMessage)

test('reads a cookie by its exact name; a cookie that appears twice counts as empty', () => {
  const cookie = cookieOf('http://127.0.0.1:3000')
  const table: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['errand=a', 'a'],
    ['theme=dark; errand=a; errand-oidc=b', 'a'],
    ['theme=dark;errand=a', 'a'],
    ['errand-oidc=b', undefined],
    ['xerrand=b', undefined],
    ['Errand=b', undefined],
    ['__Host-errand=b', undefined],
    ['errand', undefined],
    ['errand=', ''],
    ['errand=a=b', 'a=b'],
    ['errand=a; errand=a', ''],
    ['errand=a; errand=b', ''],
  ]
  for (const [header, value] of table) expect(read(cookie, header), header).toBe(value)
})

test('ignores a cookie without the __Host- prefix under https', () => {
  const cookie = cookieOf('https://errand.example.com')
  expect(read(cookie, 'errand=a')).toBe(undefined)
  expect(read(cookie, 'errand=a; __Host-errand=b')).toBe('b')
})

test('a token is 256 random bits, and malformed tokens have no hash', () => {
  const tokens = Array.from({ length: 200 }, newSecretToken)
  expect(new Set(tokens.map(({ token }) => token)).size).toBe(200)
  for (const { token, tokenHash } of tokens) {
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(Buffer.from(token, 'base64url')).toHaveLength(32)
    expect(tokenHash).toMatch(/^[\da-f]{64}$/)
    expect(hashSecretToken(token)).toBe(tokenHash)
  }
  const { token } = tokens[0]!
  for (const text of ['', token.slice(1), `${token}A`, `"${token}"`, ` ${token}`, `${token}\n`, `${token.slice(1)}=`]) {
    expect(hashSecretToken(text), JSON.stringify(text)).toBe(undefined)
  }
})

test('a password matches only its own salted hash, and nothing matches a missing hash', async () => {
  const [one, two] = [await hashPassword('correct horse'), await hashPassword('correct horse')]
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(one).not.toBe(two)
  expect(await isPassword('correct horse', one)).toBe(true)
  expect(await isPassword('Correct horse', one)).toBe(false)
  expect(await isPassword('correct horse ', one)).toBe(false)
  for (const guess of ['correct horse', '', 'null']) expect(await isPassword(guess, null)).toBe(false)
})

test('rejects a new password that resembles the email or repeats a few characters', () => {
  const email = 'ada.lovelace@example.com'
  const isRefused = (password: string): boolean => {
    try {
      assertNotObvious('newPassword', { email, password })
      return false
    } catch (error) {
      if (!(error instanceof ErrandError) || error.status !== 400) throw error
      expect(error.details?.map(({ path }) => path)).toEqual(['newPassword'])
      return true
    }
  }
  for (const password of [
    email,
    'ADA.LOVELACE@EXAMPLE.COM',
    `${email}123`,
    `1${email}1`,
    'ada.lovelace',
    'Ada.Lovelace1',
    `${email}${email}`,
    'ada.lovelaceada.lovelace',
    'aaaaaaaaaa',
    'ababababab',
    'abcabcabcabc',
    'aAaAaAaAaA',
    '1111111111',
    '          ',
  ]) {
    expect(isRefused(password), password).toBe(true)
  }
  for (const password of ['correct horse', 'abcdabcdabcd', 'ada.lovelace and her engine', '密码密码安全长句子很好']) {
    expect(isRefused(password), password).toBe(false)
  }
})

test('many logins with one email leave room for logins with other emails', async () => {
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const hold = (email: string) => withHashRoom(email, () => end)
  const held = Array.from({ length: 51 }, () => hold('one@example.com'))
  await expect(hold('One@example.com')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  held.push(...Array.from({ length: 12 }, () => hold('two@example.com')))
  await expect(hold('two@example.com')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  held.push(hold('three@example.com'))
  resolve()
  await Promise.all(held)
})
