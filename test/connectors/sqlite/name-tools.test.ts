import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nameTools } from '../../../server/connectors/thread/name-tools.ts'
import { threadMs } from '../../support/thread-time.ts'

const tool = (connectorName: string, toolName: string) => ({ connectorName, toolName })
const letters = (count: number, letter = 'x') => letter.repeat(count)

test('a tool with a unique name keeps it', () => {
  expect(nameTools([tool('Docs', 'search'), tool('Mail', 'send_mail'), tool('Mail', 'list-mails')], ['keep'])).toEqual([
    'search',
    'send_mail',
    'list-mails',
  ])
  expect(nameTools([], ['keep'])).toEqual([])
})

test("prefixes tools of the same name with the connector's name", () => {
  const tools = [tool('Docs', 'search'), tool('Web', 'search'), tool('Web', 'open')]
  expect(nameTools(tools, [])).toEqual(['Docs_search', 'Web_search', 'open'])
})

test("avoids names of the agent's own tools", () => {
  expect(nameTools([tool('Docs', 'search')], ['search'])).toEqual(['Docs_search'])
  expect(nameTools([tool('Docs', 'search')], ['search', 'Docs_search'])).toEqual(['Docs_search-2'])
})

test("a prefixed name avoids another tool's own name", () => {
  const tools = [tool('Docs', 'search'), tool('Web', 'search'), tool('Web', 'Docs_search')]
  expect(nameTools(tools, [])).toEqual(['Docs_search-2', 'Web_search', 'Docs_search'])
})

test('numbers tools whose names differ only in invalid characters', () => {
  const tools = [tool('A b', 'get.it'), tool('A b', 'get it'), tool('A_b', 'get/it')]
  expect(nameTools(tools, [])).toEqual(['A_b_get_it', 'A_b_get_it-2', 'A_b_get_it-3'])
  expect(nameTools([tool('Docs', 'suche ☃'), tool('Docs', '')], [])).toEqual(['suche__', '_'])
})

test('keeps names of 64 characters unique within 64 characters', () => {
  const tools = Array.from({ length: 12 }, () => tool('Docs', letters(80)))
  const names = nameTools(tools, [])
  expect(names[0]).toBe(`Docs_${letters(59)}`)
  expect(names[1]).toBe(`Docs_${letters(57)}-2`)
  expect(names[11]).toBe(`Docs_${letters(56)}-12`)
  const alike = [tool('Docs', letters(64)), tool('Docs', letters(65)), tool('Web', letters(64, 'y'))]
  expect(nameTools(alike, [])).toEqual([`Docs_${letters(59)}`, `Docs_${letters(57)}-2`, letters(64, 'y')])
})

test('gives every tool a unique name that providers accept', () => {
  const part = fc.oneof(
    fc.constantFrom('a', 'b', 'a_b', 'a-2', 'a_a', 'a_a-2', '', '_', '__proto__', 'constructor', letters(70)),
    fc.string({ maxLength: 80, unit: 'grapheme' }),
  )
  const tools = fc.array(fc.record({ connectorName: part, toolName: part }), { maxLength: 40 })
  const reserved = fc.uniqueArray(fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/), { maxLength: 5 })
  fc.assert(
    fc.property(tools, reserved, (given, taken) => {
      const names = nameTools(given, taken)
      expect(names).toHaveLength(given.length)
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      expect(new Set([...names, ...taken]).size).toBe(names.length + taken.length)
    }),
    { numRuns: 500 },
  )
})

// Searching from the first number for each tool took ten seconds.
test('gives ten thousand colliding tools unique names quickly', () => {
  const tools = Array.from({ length: 10_000 }, (_, n) => tool(`${letters(60, 'é')}${n % 20}`, 'x'))
  const before = threadMs()
  expect(new Set(nameTools(tools, [])).size).toBe(10_000)
  expect(threadMs() - before).toBeLessThan(3000)
})
