import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SecretFilter } from '../../../server/connectors/secret-filter.ts'
import { answerError, toToolAnswer } from '../../../server/connectors/thread/tool-answer.ts'
import { threadMs } from '../../support/thread-time.ts'

/** Few characters, so that secrets overlap, contain each other and nearly match. */
const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '"', '\\', 'é'), minLength: 6, maxLength: 12 })

test('removes all secrets from a string and nothing else', () => {
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 6 }), fc.array(letters), (secrets, parts) => {
      const text = parts.join('')
      const clean = new SecretFilter(secrets).cleanText(text)
      for (const secret of secrets) expect(clean).not.toContain(secret)
      // The text contains the remaining pieces in that order.
      let from = 0
      for (const kept of clean.split('…')) {
        const at = text.indexOf(kept, from)
        expect(at).toBeGreaterThanOrEqual(from)
        from = at + kept.length
      }
      if (!secrets.some((secret) => text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)))) {
        expect(clean).toBe(text)
      }
    }),
    { numRuns: 2000 },
  )
})

test('a truncated string shows no partial secret, even after earlier replacements', () => {
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 6 }), fc.nat(40), (secrets, charsMax) => {
      const text = secrets.join('-')
      const clean = new SecretFilter(secrets).cleanText(text, charsMax)
      expect(new SecretFilter(secrets).cleanText(text).startsWith(clean)).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

// Ten headers of 8 KB can have 11,000 words. Searching for each of them separately in each string of a response takes
// too long.
test('thousands of secrets, or long near matches, take only one pass', () => {
  const words = Array.from({ length: 11_000 }, (_, n) => `word${n}`)
  const nearly = ['a', 'ba', 'ab'].map((around) => `${'a'.repeat(4000)}${around}${'a'.repeat(4000)}b`)
  const texts = [['a'.repeat(1_900_000)], Array.from({ length: 70_000 }, () => 'a')]
  for (const secrets of [words, nearly]) {
    for (const of of texts) {
      const content = of.map((text) => ({ type: 'text', text }))
      const before = threadMs()
      expect(toToolAnswer({ content }, secrets).content).toEqual(content)
      expect(threadMs() - before).toBeLessThan(5000)
    }
  }
})

test('rejects oversized input before searching it for secrets', () => {
  const touched: string[] = []
  const secrets = new Proxy(['a-secret'], {
    get: (of, key) => {
      touched.push(String(key))
      return Reflect.get(of, key)
    },
  })
  const text = 'a-secret'.repeat(1_000_000)
  expect(toToolAnswer({ content: [{ type: 'text', text }] }, secrets).text).toMatch(/more than 2097152 characters/)
  expect(touched).toEqual([])
  expect(answerError(text, ['a-secret']).text).toBe('…'.repeat(500))
})

test('turns an extremely nested result into an error message', () => {
  let deep: unknown[] = []
  for (let level = 0; level < 1_000_000; level++) deep = [deep]
  expect(toToolAnswer({ content: [], structuredContent: deep }, ['a-secret']).text).toMatch(/levels of nesting/)
})
