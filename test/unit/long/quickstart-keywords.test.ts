import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findKeywords } from '../../../examples/quickstart/find-keywords.ts'

const fourFreedoms = readDocument('four-freedoms.txt')
const cetology = readDocument('cetology.txt')

function readDocument(name: string): string {
  return readFileSync(new URL(`../../../examples/quickstart/documents/${name}`, import.meta.url), 'utf8')
}

async function findPhrases(text: string, limit = 20): Promise<string[]> {
  return (await findKeywords(text, { limit })).keywords.map(({ phrase }) => phrase.toLowerCase())
}

test("finds the main topics of Roosevelt's speech, such as nations, war and freedom", async () => {
  const phrases = await findPhrases(fourFreedoms)
  for (const phrase of ['world', 'war', 'united states', 'defense', 'freedom', 'national policy', 'congress']) {
    expect(phrases).toContain(phrase)
  }
  expect(phrases[0]).toMatch(/^nations?$/)
})

test("finds whales and their kinds as topics of Melville's chapter", async () => {
  const phrases = await findPhrases(cetology)
  for (const phrase of ['whale', 'sperm whale', 'greenland whale', 'right-whale', 'fish', 'porpoise', 'fin-back']) {
    expect(phrases).toContain(phrase)
  }
})

test('counts match a case-insensitive search of the text', async () => {
  const { keywords } = await findKeywords(fourFreedoms, { limit: 50 })
  const countOf = (name: string) => keywords.find(({ phrase }) => phrase === name)?.count
  expect(countOf('United States')).toBe(fourFreedoms.match(/\bUnited\s+States\b/gi)?.length)
  expect(countOf('defense')).toBe(fourFreedoms.match(/\bdefenses?\b/gi)?.length)
  expect(countOf('national policy')).toBe(fourFreedoms.match(/\bnational\s+policy\b/gi)?.length)
  const whale = (await findKeywords(cetology, { limit: 1 })).keywords[0]
  expect(whale?.count).toBe(cetology.match(/(?<![\p{L}])whales?(?:['’]s)?(?![\p{L}'’])/giu)?.length)
})

test('an abstract yields the phrases that human indexers chose', async () => {
  const abstract =
    'Compatibility of systems of linear constraints over the set of natural numbers. Criteria of compatibility of a ' +
    'system of linear Diophantine equations, strict inequations, and nonstrict inequations are considered. Upper ' +
    'bounds for components of a minimal set of solutions and algorithms of construction of minimal generating sets of ' +
    'solutions for all types of systems are given. These criteria and the corresponding algorithms for constructing a ' +
    'minimal supporting set of solutions can be used in solving all the considered types of systems and systems of ' +
    'mixed types.'
  const phrases = await findPhrases(abstract, 12)
  const chosen = [
    'linear constraints',
    'linear diophantine equations',
    'minimal generating sets',
    'natural numbers',
    'nonstrict inequations',
    'strict inequations',
    'upper bounds',
  ]
  for (const phrase of chosen) expect(phrases).toContain(phrase)
})

test('stop words, contractions, numbers and single letters are not keywords', async () => {
  const { keywords } = await findKeywords("The and of. It's what they don't, x 1914 2,000 — we'll see the reactor.", {
    limit: 50,
  })
  expect(keywords.map(({ phrase }) => phrase)).toEqual(expect.arrayContaining(['reactor']))
  for (const { phrase } of keywords) expect(phrase).not.toMatch(/\d|don|ll|^it|^the|^x$/i)
})

test('reports a phrase as first written, across line breaks and hyphens', async () => {
  const text = 'The white\nwhale swims. WHITE WHALE! A white whale dives. White-whale!'
  const { keywords } = await findKeywords(text, { limit: 1 })
  expect(keywords).toEqual([{ phrase: 'white whale', score: 1, count: 4 }])
})

test('a phrase does not span punctuation', async () => {
  expect(await findPhrases('Solar power; wind turbines. Solar power, wind turbines.', 50)).not.toContain('power wind')
})

test('joins Chinese words into phrases without spaces', async () => {
  const text =
    '人工智能正在改变世界。研究人员认为人工智能技术很重要。机器学习是人工智能的一个分支，机器学习使用大量数据。'
  const { keywords, language } = await findKeywords(text, { limit: 2 })
  expect(language).toBe('zh')
  expect(keywords.map(({ phrase, count }) => [phrase, count])).toEqual([
    ['人工智能', 3],
    ['机器学习', 2],
  ])
})

test('finds no keywords in text without real words', async () => {
  for (const text of ['the and of the', 'a'.repeat(100_000), '', '?!', '😀', '\0']) {
    expect((await findKeywords(text, { limit: 5 })).keywords).toEqual([])
  }
})

test('finds the frequent phrases among very many phrases, and adds a note', async () => {
  const noise = Array.from({ length: 110_000 }, (_, i) => `w${i.toString(36)}x`)
  const text = noise.map((word, i) => `${word}${i % 100 === 0 ? ' about dark matter.' : ''}`).join(' ')
  const { keywords, notes } = await findKeywords(text, { limit: 1 })
  expect(keywords).toMatchObject([{ phrase: 'dark matter' }])
  expect(notes).toEqual(['The text has very many phrases; counts may be too low.'])
})

test('an aborted run rejects with the abort reason without blocking other work', async () => {
  const controller = new AbortController()
  const stopped = findKeywords(fourFreedoms.repeat(20), { limit: 1, signal: controller.signal })
  setImmediate(() => controller.abort(new Error('stopped by the test')))
  await expect(stopped).rejects.toThrow('stopped by the test')
})

test('any text yields at most the requested keywords, best first and the same each time', async () => {
  const words = [
    'whale',
    'Whales',
    'the',
    'solar',
    'power',
    '. ',
    '\n',
    '人工',
    '智能',
    '😀',
    '\0',
    '-',
    'constructor',
    '__proto__',
  ]
  const texts = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'grapheme' })), { maxLength: 80 })
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 1, max: 50 }), async (parts, limit) => {
      const text = `${parts.join(' ')} end`
      const { keywords, notes } = await findKeywords(text, { limit })
      expect((await findKeywords(text, { limit })).keywords).toEqual(keywords)
      expect(notes).toEqual([])
      expect(keywords.length).toBeLessThanOrEqual(limit)
      const squeezed = text.replace(/[\s\p{Cc}]/gu, '')
      for (const { phrase, count } of keywords) {
        expect(squeezed).toContain(phrase.replace(/\s/g, ''))
        expect(count).toBeGreaterThan(0)
      }
      const scores = keywords.map(({ score }) => score)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
      if (scores.length > 0) expect(scores[0]).toBe(1)
    }),
  )
})
