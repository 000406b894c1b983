import { transactionTypes } from '../../server/store/accounts/account-types.ts'
import { taskStatuses, taskFailureCodes } from '../../server/store/tasks/task-types.ts'
import { scopes } from '../../server/store/access/key-types.ts'
import { loginMethods, invitationKinds } from '../../server/store/access/people-types.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { hashToken, kindOfToken, newToken } from '../../server/auth/keys/api-token.ts'
import { errorBody, errorCatalogue, ErrandError, toErrandError, type ErrorCode } from '../../server/kernel/errors.ts'
import { isId, newId } from '../../server/kernel/ids.ts'
import { formatUsd, parseUsd } from '../../server/kernel/money.ts'

// Values that clients compare, store and match. A change breaks clients, so it must be made here as well.

const server = fileURLToPath(new URL('../../server', import.meta.url))

test('each error code has its fixed status and name', () => {
  expect(Object.entries(errorCatalogue).map(([code, { error, status }]) => [code, status, error])).toEqual([
    ['BAD_REQUEST', 400, 'Bad request'],
    ['UNAUTHORIZED', 401, 'Unauthorized'],
    ['FORBIDDEN', 403, 'Forbidden'],
    ['ACCOUNT_BLOCKED', 403, 'Forbidden'],
    ['INSUFFICIENT_BALANCE', 403, 'Insufficient balance'],
    ['BUDGET_REACHED', 403, 'Budget reached'],
    ['LIMIT_REACHED', 403, 'Limit reached'],
    ['NOT_FOUND', 404, 'Not found'],
    ['CONNECTOR_NOT_FOUND', 404, 'Not found'],
    ['METHOD_NOT_ALLOWED', 405, 'Method not allowed'],
    ['REQUEST_TIMEOUT', 408, 'Request timeout'],
    ['CONFLICT', 409, 'Conflict'],
    ['SESSION_BUSY', 409, 'Conflict'],
    ['SESSION_COMPLETED', 409, 'Conflict'],
    ['SESSION_EXPIRED', 410, 'Session expired'],
    ['EVENTS_EXPIRED', 410, 'Events expired'],
    ['PAYLOAD_TOO_LARGE', 413, 'Payload too large'],
    ['UNSUPPORTED_MEDIA_TYPE', 415, 'Unsupported media type'],
    ['EXPECTATION_FAILED', 417, 'Expectation failed'],
    ['CONNECTOR_FAILED', 424, 'Failed dependency'],
    ['RATE_LIMIT_EXCEEDED', 429, 'Rate limit exceeded'],
    ['LOGIN_THROTTLED', 429, 'Too many login attempts'],
    ['HEADERS_TOO_LARGE', 431, 'Request header fields too large'],
    ['INTERNAL_ERROR', 500, 'Internal error'],
    ['SERVICE_UNAVAILABLE', 503, 'Service unavailable'],
  ])
})

test('an error body has error, message, statusCode and code, and details only if there are any', () => {
  for (const [code, { error, status }] of Object.entries(errorCatalogue)) {
    expect(errorBody(new ErrandError(code as ErrorCode, 'Why.'))).toEqual({
      error,
      message: 'Why.',
      statusCode: status,
      code,
    })
  }
  const details = [{ path: 'params.text', message: 'Is missing' }]
  expect(errorBody(new ErrandError('BAD_REQUEST', 'Why.', { details }))).toEqual({
    error: 'Bad request',
    message: 'Why.',
    statusCode: 400,
    code: 'BAD_REQUEST',
    details,
  })
})

test('the body of an unexpected error reveals nothing about what was thrown', () => {
  for (const thrown of [new Error('password=hunter2'), 'hunter2', null, undefined, { hunter2: 1 }]) {
    expect(errorBody(toErrandError(thrown))).toEqual({
      error: 'Internal error',
      message: 'The service failed to process the request. Report the X-Request-Id header to its operator.',
      statusCode: 500,
      code: 'INTERNAL_ERROR',
    })
  }
})

test('task statuses, transaction types, scopes, login methods and link kinds have fixed values', () => {
  expect(taskStatuses).toEqual(['pending', 'processing', 'completed', 'failed'])
  expect(transactionTypes).toEqual([
    'credit',
    'task_charge',
    'task_refund',
    'chat_charge',
    'adjustment',
    'topup_reversal',
  ])
  expect(scopes).toEqual(['read', 'execute', 'manage'])
  expect(loginMethods).toEqual(['password', 'oidc', 'invitation'])
  expect(invitationKinds).toEqual(['invitation', 'sign-up', 'password'])
})

test('the failure codes of tasks are exactly those that the server writes', () => {
  const files = readdirSync(server, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  expect(files.length).toBeGreaterThan(50)
  const codes = files.flatMap(
    (name) =>
      readFileSync(join(server, name), 'utf8').match(
        /(?<=')(?:AGENT_[A-Z_]+|CANCELED|CONNECTORS_BLOCKED|EXPIRED)(?=')/g,
      ) ?? [],
  )
  expect([...new Set(codes)].toSorted()).toEqual([
    'AGENT_ERROR',
    'AGENT_INTERRUPTED',
    'AGENT_OUTPUT_INVALID',
    'AGENT_OUTPUT_TOO_LARGE',
    'AGENT_TIMEOUT',
    'AGENT_UNAVAILABLE',
    'CANCELED',
    'CONNECTORS_BLOCKED',
    'EXPIRED',
  ])
  expect(taskFailureCodes.toSorted()).toEqual([...new Set(codes)].toSorted())
})

test('API keys, platform keys and client tokens have a prefix, 30 base62 characters and a checksum', () => {
  const known = 'errand_sk_0123456789ABCDEFGHIJabcdefghij4Us3aw'
  expect(known).toHaveLength(46)
  expect(kindOfToken(known)).toBe('key')
  expect(hashToken(known)).toBe('5b46138f3cc281e2564ad99475a6fa706bdb61cd045a5ee264efee07fe4a48c6')
  for (let at = 'errand_sk_'.length; at < known.length; at++) {
    const other = known[at] === 'x' ? 'y' : 'x'
    expect(kindOfToken(known.slice(0, at) + other + known.slice(at + 1)), `character ${at}`).toBe(undefined)
  }
  for (const wrong of ['', known.slice(0, -1), `${known}0`, ` ${known}`, `${known}\n`, known.replace('sk', 'xk')]) {
    expect(kindOfToken(wrong)).toBe(undefined)
  }
  for (const [kind, prefix] of [
    ['key', 'sk'],
    ['platform', 'pk'],
    ['client', 'ct'],
  ] as const) {
    const made = Array.from({ length: 200 }, () => newToken(kind))
    for (const token of made) {
      expect(token).toMatch(new RegExp(`^errand_${prefix}_[0-9A-Za-z]{36}$`))
      expect(kindOfToken(token)).toBe(kind)
    }
    expect(new Set(made).size).toBe(200)
  }
})

test('an id consists of its prefix, ten time characters and sixteen random characters, and sorts by time', () => {
  const now = Date.UTC(2026, 0, 15, 12)
  const id = newId('task', now)
  expect(id).toMatch(/^task_01kf0rdqg0[0-9abcdefghjkmnpqrstvwxyz]{16}$/)
  expect(isId('task', id)).toBe(true)
  expect(newId('task', now + 1) > id).toBe(true)
  for (const wrong of [
    '',
    'task_',
    id.slice(0, -1),
    `${id}0`,
    id.toUpperCase(),
    id.replace('task', 'key'),
    `${id}\n`,
  ]) {
    expect(isId('task', wrong), wrong).toBe(false)
  }
})

test('an amount is a decimal string with exactly four fraction digits', () => {
  expect([0, -0, 1, 100, 12_345, -1, -125_000, 10_000_000_000].map(formatUsd)).toEqual([
    '0.0000',
    '0.0000',
    '0.0001',
    '0.0100',
    '1.2345',
    '-0.0001',
    '-12.5000',
    '1000000.0000',
  ])
  expect(['25', '0.01', '-1.2500', '-0'].map(parseUsd)).toEqual([250_000, 100, -12_500, 0])
  for (const wrong of ['', '1.', '.5', '1.00001', '1e3', '+1', ' 1', '1,5', '0x1', '1'.repeat(12)]) {
    expect(parseUsd(wrong), wrong).toBe(undefined)
  }
})
