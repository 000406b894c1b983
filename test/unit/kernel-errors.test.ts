import { expect, test } from 'vitest'
import { z } from 'zod'
import { assert, must, unreachable } from '../../server/kernel/assert.ts'
import { issueMessage } from '../../server/kernel/bad-input.ts'
import { badField, ErrandError, errorBody, errorCatalogue, toErrandError } from '../../server/kernel/errors.ts'

test('error codes have the statuses and titles of the contract', () => {
  expect(errorCatalogue).toMatchObject({
    BAD_REQUEST: { status: 400 },
    UNAUTHORIZED: { status: 401, error: 'Unauthorized' },
    FORBIDDEN: { status: 403, error: 'Forbidden' },
    ACCOUNT_BLOCKED: { status: 403, error: 'Forbidden' },
    INSUFFICIENT_BALANCE: { status: 403, error: 'Insufficient balance' },
    NOT_FOUND: { status: 404, error: 'Not found' },
    SESSION_EXPIRED: { status: 410, error: 'Session expired' },
    RATE_LIMIT_EXCEEDED: { status: 429, error: 'Rate limit exceeded' },
  })
})

test('an error body has the contract fields, and details only if there are any', () => {
  for (const [code, { status, error }] of Object.entries(errorCatalogue)) {
    const thrown = new ErrandError(code as keyof typeof errorCatalogue, 'Why.')
    expect(thrown.status).toBe(status)
    expect(errorBody(thrown)).toStrictEqual({ error, message: 'Why.', statusCode: status, code })
  }
  const details = [{ path: 'params.text', message: 'Is missing' }]
  expect(errorBody(new ErrandError('BAD_REQUEST', 'Why.', { details }))).toMatchObject({ details })
})

test('an error body omits the cause, which is kept for the log', () => {
  const cause = new Error('the password is hunter2')
  const thrown = new ErrandError('SERVICE_UNAVAILABLE', 'Later.', { cause, retryAfterSeconds: 3 })
  expect(thrown).toMatchObject({ cause, retryAfterSeconds: 3, name: 'ErrandError' })
  expect(JSON.stringify(errorBody(thrown))).not.toContain('hunter2')
  expect('cause' in new ErrandError('NOT_FOUND', 'No.')).toBe(false)
})

test('keeps an ErrandError and replaces any other thrown value with an internal error', () => {
  const ours = new ErrandError('NOT_FOUND', 'Task not found')
  expect(toErrandError(ours)).toBe(ours)
  const hostile = {
    get message(): string {
      throw new Error('got you')
    },
    toString: null,
  }
  for (const thrown of [
    new Error('secret'),
    'secret',
    null,
    undefined,
    42,
    Symbol('secret'),
    hostile,
    Object.create(null),
  ]) {
    const error = toErrandError(thrown)
    expect(errorBody(error)).toMatchObject({ error: 'Internal error', statusCode: 500 })
    expect(error.message).not.toContain('secret')
    if (thrown !== undefined) expect(error.cause).toBe(thrown)
  }
})

test('names an invalid field in the message and the details', () => {
  const details = [{ path: 'limit', message: 'Is too large' }]
  expect(errorBody(badField('limit', 'Is too large'))).toMatchObject({ message: 'limit: Is too large', details })
  expect(badField('', 'The body is empty').message).toBe('The body is empty')
})

test('failed assertions throw an error with their message', () => {
  expect(() => assert(0, 'there is one')).toThrow('Assertion failed: there is one')
  expect(() => assert('yes', 'there is one')).not.toThrow()
  expect(() => must(null, 'the row exists')).toThrow('the row exists')
  expect(() => must(undefined, 'the row exists')).toThrow('the row exists')
  expect([must(0, ''), must('', ''), must(false, '')]).toEqual([0, '', false])
  expect(() => unreachable('lost' as never)).toThrow('Unreachable: "lost"')
})

test.each([
  [z.string(), undefined, 'Must be set'],
  [z.string(), 1, 'Must be a string'],
  [z.int(), 1.5, 'Must be a whole number'],
  [z.enum(['a', 'b']), 'c', 'Must be one of a, b'],
  [z.literal('a'), 'c', 'Must be a'],
  [z.number().min(1), 0, 'Must be at least 1'],
  [z.number().gt(1), 1, 'Must be more than 1'],
  [z.string().min(1), '', 'Must not be empty'],
  [z.string().length(2), 'abc', 'Must have exactly 2 characters'],
  [z.array(z.string()).max(1), ['a', 'b'], 'Must have at most 1 item'],
  [z.date(), 1, 'Invalid input: expected date, received number'],
  [z.string('Must be a name'), 1, 'Must be a name'],
])('words the issues of a Zod schema, case %#', (schema, input, message) => {
  expect(schema.safeParse(input).error?.issues.map(issueMessage)).toEqual([message])
})
