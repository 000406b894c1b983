import { expect, test } from 'vitest'
import { describeModelError } from '../../server/agents/model/model-error.ts'

const named = (name: string, fields: object) => Object.assign(new Error('Its message.'), { name, ...fields })
const circular: { cause?: unknown } = {}
circular.cause = circular
const status = (statusCode: number, responseBody: string, message = 'Bad Request') =>
  named('AI_APICallError', { statusCode, responseBody, message })

test.for<[unknown, string]>([
  [status(400, '{"error":{"message":"Too long"}}'), 'The model provider responded with 400: Too long.'],
  [status(400, '{"error":"no such model"}'), 'The model provider responded with 400: no such model.'],
  [status(422, '{"object":"error","message":"Bad role."}'), 'The model provider responded with 422: Bad role.'],
  [status(502, '<html>', 'Bad Gateway'), 'The model provider responded with 502: Bad Gateway.'],
  [status(500, '', ''), 'The model provider responded with the status 500. Try again, or check the provider.'],
  [
    named('AI_RetryError', { lastError: status(429, '', 'Slow down!') }),
    'The model provider responded with 429: Slow down!',
  ],
  [
    named('AI_APICallError', { cause: { code: 'ENOTFOUND' } }),
    'Could not reach the model provider (ENOTFOUND). Try again.',
  ],
  [named('AI_StreamProviderError', { message: 'Busy' }), 'The model provider failed: Busy.'],
  [{ message: 'Busy' }, 'The model provider failed: Busy.'],
  [named('AI_TypeValidationError', { value: { error: 'out of memory' } }), 'The model provider failed: out of memory.'],
  [named('AI_JSONParseError', {}), "The model provider's response is malformed. Try again."],
  [
    named('AI_NoOutputGeneratedError', {}),
    "The model's output does not match the endpoint's schema. Try again, or simplify the schema.",
  ],
  [new Error('', { cause: new Error('The cause') }), 'The cause.'],
  [new Error('two\nlines\t here'), 'two lines here.'],
  ['A text', 'A text.'],
  [circular, 'The model failed without an error message. Try again.'],
  [null, 'The model failed without an error message. Try again.'],
  [undefined, 'The model failed without an error message. Try again.'],
  [42, 'The model failed without an error message. Try again.'],
])('describes %s in one sentence', ([thrown, sentence]) => {
  expect(describeModelError(thrown)).toBe(sentence)
})

test('truncates a long error message to 500 characters without splitting a surrogate pair', () => {
  const text = describeModelError(new Error('😀'.repeat(1000)))
  expect(text.length).toBeLessThanOrEqual(501)
  expect(text.isWellFormed()).toBe(true)
})

test('masks words that look like keys or URLs, and keeps model names and numbers', () => {
  const secrets = [
    'sk-proj-abc_DEF-123',
    'sk-ant-api03-Zm9v_YmFy-AA',
    'gsk_a1b2c3',
    'AIza-SyA1b2C3d4',
    'Bearer a.b.c',
    'AIzaSyD4f5G6h7J8k9L0m1N2',
    '0123456789abcdef0123456789abcdef',
    'sk-ab*****xyz',
    '****************wxyz',
    'https://platform.openai.com/account/api-keys',
    'http://10.0.0.7:8080/v1?key=1',
  ]
  for (const secret of secrets) {
    expect(describeModelError(new Error(`It was ${secret}, as given.`)), secret).toBe('It was …, as given.')
  }
  const kept = [
    'The model claude-sonnet-4-5-20250929 is gone.',
    'The model gpt-5-mini-2025-08-07 takes at most 128000 tokens, not 1234567890123456789012.',
    'Donaudampfschifffahrtsgesellschaft is a word, and so are risk-free, task_id and skip.',
    'Use max_completion_tokens instead of max_tokens (unsupported_parameter).',
  ]
  for (const text of kept) expect(describeModelError(new Error(text))).toBe(text)
})
