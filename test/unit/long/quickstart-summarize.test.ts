import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { detectLanguage, readSentences } from '../../../examples/quickstart/read-text.ts'
import { summarizeText } from '../../../examples/quickstart/summarize-text.ts'

const fourFreedoms = readDocument('four-freedoms.txt')
const cetology = readDocument('cetology.txt')

function readDocument(name: string): string {
  return readFileSync(new URL(`../../../examples/quickstart/documents/${name}`, import.meta.url), 'utf8')
}

/** Removes whitespace and control characters, which a summary may change. */
function squeeze(text: string): string {
  return text.replace(/[\s\p{Cc}]/gu, '')
}

test.each([
  ['four-freedoms.txt', fourFreedoms],
  ['cetology.txt', cetology],
])('the summary of %s quotes sentences of the text verbatim and in order', async (_name, text) => {
  const result = await summarizeText(text, { sentences: 8 })
  expect(result.sentences).toHaveLength(8)
  expect(result.summary).toBe(result.sentences.map((sentence) => sentence.text).join(' '))
  let from = 0
  for (const sentence of result.sentences) {
    const at = squeeze(text).indexOf(squeeze(sentence.text), from)
    expect(at).toBeGreaterThanOrEqual(from)
    from = at + 1
  }
  const indexes = result.sentences.map((sentence) => sentence.index)
  expect(indexes).toEqual([...new Set(indexes)].toSorted((a, b) => a - b))
  expect(Math.max(...result.sentences.map((sentence) => sentence.score))).toBe(1)
  expect(result.notes).toEqual([])
})

test("the summary of Roosevelt's speech covers its subject: democracy, war and the freedoms", async () => {
  const { summary, language } = await summarizeText(fourFreedoms, { sentences: 6 })
  expect(language).toBe('en')
  expect(summary).toContain('the democratic way of life is at this moment being directly assailed')
  expect(summary).toContain('The third is freedom from want')
  expect(summary).toContain('Even when the World War broke out in 1914')
})

test("the summary of Melville's chapter covers the kinds of whales, not its closing words", async () => {
  const { summary } = await summarizeText(cetology, { sentences: 6 })
  expect(summary).toContain('As the type of the FOLIO I present the Sperm Whale')
  expect(summary).toContain('Whalebone Whales, that is, whales with baleen')
  expect(summary).not.toContain('God keep me from ever completing anything')
})

test('totals count every word and every sentence of the text', async () => {
  const { totals } = await summarizeText('A Title\n\nOne two three. Four five!\n\n- six seven\n- eight', {
    sentences: 1,
  })
  expect(totals).toEqual({ sentences: 5, words: 10 })
  const words = fourFreedoms.match(/[\p{L}\p{N}]+(?:['.,][\p{L}\p{N}]+)*/gu)
  expect((await summarizeText(fourFreedoms, { sentences: 1 })).totals.words).toBe(words?.length)
})

test('scores equal the row sums of the full similarity matrix', async () => {
  const sentences = [['apple', 'bear'], ['apple', 'bear', 'cedar'], ['cedar', 'donkey'], ['eagle']]
  const text = sentences.map((words) => `${words.join(' ')}.\n\n`).join('')
  const frequency = (word: string) => sentences.filter((sentence) => sentence.includes(word)).length
  const similarity = (a: string[], b: string[]) => {
    const common = a.filter((word) => b.includes(word))
    return common.reduce((sum, word) => sum + Math.log(1 + sentences.length / frequency(word)), 0) / 10
  }
  const sums = sentences.map((a) => sentences.reduce((sum, b) => sum + (a === b ? 0 : similarity(a, b)), 0))
  const { sentences: ranked } = await summarizeText(text, { sentences: 4 })
  for (const [at, { score }] of ranked.entries()) expect(score).toBeCloseTo(sums[at]! / Math.max(...sums), 5)
})

test('titles, initials, numbers and quotations do not end a sentence', () => {
  const sentences = [
    'Dr. Smith of the U.S. Army met Mr. J. R. Jones, e.g. in St. Louis.',
    'Version 3.5 by A. A. Milne left.',
    '"Go."',
    'Well...',
    'He lives in the U.S.',
  ]
  expect([...readSentences(sentences.join(' '))]).toEqual(sentences)
})

test('joins wrapped lines, but not headings, list items or paragraphs', () => {
  const text =
    '# The report\r\nThis paragraph was wrapped by an editor at some column and\r\nMust be read as one sentence. ' +
    'Then another\r\none.\r\n=====\r\n1. First item\r\n2. Second item\r\n\r\nOne\0two.'
  expect([...readSentences(text)]).toEqual([
    'The report',
    'This paragraph was wrapped by an editor at some column and Must be read as one sentence.',
    'Then another one.',
    'First item',
    'Second item',
    'One two.',
  ])
})

test('a single sentence is its own summary, with a note', async () => {
  const result = await summarizeText('  Only this\none. ', { sentences: 3 })
  expect(result.summary).toBe('Only this one.')
  expect(result.sentences).toEqual([{ text: 'Only this one.', index: 0, score: 1 }])
  expect(result.notes).toEqual(['Distinct sentences in the text: 1, fewer than requested.'])
})

test('identical sentences are chosen once and counted each time', async () => {
  const result = await summarizeText('The whale swims. '.repeat(500), { sentences: 3 })
  expect(result.summary).toBe('The whale swims.')
  expect(result.totals).toEqual({ sentences: 500, words: 1500 })
  expect(result.notes).toEqual(['Distinct sentences in the text: 1, fewer than requested.'])
})

test('of two sentences with equal scores, the earlier one is chosen', async () => {
  const { sentences } = await summarizeText('Red apples grow. Blue rivers flow. Green hills rest.', { sentences: 2 })
  expect(sentences.map((sentence) => sentence.index)).toEqual([0, 1])
})

test('splits and ranks Chinese by its own words', async () => {
  const text =
    '人工智能正在改变世界。今天天气很好。研究人员认为人工智能技术很重要！世界需要人工智能技术。他吃了\n一个苹果。'
  const result = await summarizeText(text, { sentences: 2 })
  expect(result.language).toBe('zh')
  expect(result.totals.sentences).toBe(5)
  expect(result.summary).toContain('世界需要人工智能技术。')
  expect(result.summary).not.toMatch(/天气|苹果/)
})

test('splits Arabic at its own question mark and ranks it', async () => {
  const text =
    'هل تعرف تاريخ مدينة القاهرة؟ القاهرة مدينة كبيرة ولها تاريخ طويل. أكل الولد تفاحة. زار السياح مدينة القاهرة.'
  const result = await summarizeText(text, { sentences: 1 })
  expect(result.language).toBe('ar')
  expect(result.totals.sentences).toBe(4)
  expect(result.summary).toContain('القاهرة')
})

test.each([
  ['de', 'Die Kommission hat am Dienstag über den Haushalt gesprochen, aber nicht entschieden.'],
  ['fr', "La commission a discuté du budget et du bâtiment, mais elle n'a pas encore pris de décision."],
  ['es', 'La comisión se reunió el martes para hablar del presupuesto, pero no tomó una decisión.'],
  ['pl', 'Komisja spotkała się we wtorek, aby omówić budżet i nowy budynek, ale nie podjęła decyzji.'],
  ['ru', 'Комиссия собралась во вторник, чтобы обсудить бюджет и новое здание, но не приняла решения.'],
  ['uk', 'Комісія зібралася у вівторок, щоб обговорити бюджет і нову будівлю, але не ухвалила рішення.'],
  ['fa', 'کمیته روز سه شنبه برای بحث در باره بودجه و ساختمان جدید تشکیل جلسه داد اما تصمیمی نگرفت.'],
  ['ja', '委員会は火曜日に予算と新しい建物について話し合ったが、決定はしなかった。'],
  ['ja', '東京都知事選挙の結果発表を速報'],
  ['und', 'I love pizza'],
  ['und', '🙂 12'],
])('detects the language by script and stop words: %s', (language, text) => {
  expect(detectLanguage(text)).toBe(language)
})

test.each([
  ['one long word', 'a'.repeat(50_000)],
  ['words without punctuation', 'word '.repeat(10_000)],
  ['surrogate pairs', `a${'𠀀'.repeat(20_000)}`],
])('splits %s into parts of bounded length', async (_name, text) => {
  const result = await summarizeText(text, { sentences: 2 })
  for (const sentence of result.sentences) {
    expect([...sentence.text].length).toBeLessThanOrEqual(2000)
    expect(sentence.text.isWellFormed()).toBe(true)
    expect(squeeze(text)).toContain(squeeze(sentence.text))
  }
})

test('ranks a 10 MB text to its last sentence', { timeout: 60_000 }, async () => {
  const filler = Array.from(
    { length: 90_000 },
    (_, i) => `The ${i} ${'of these and those of those '.repeat(4)}is s${i % 9000}.`,
  )
  const hub = `The center has ${Array.from({ length: 200 }, (_, i) => `s${i * 30}`).join(', ')} and more.`
  const text = `${filler.join(' ')} ${hub}`
  expect(text.length).toBeGreaterThan(10_000_000)
  const { sentences, totals, notes } = await summarizeText(text, { sentences: 1 })
  expect(totals.sentences).toBe(90_001)
  expect(sentences).toEqual([{ text: hub, index: 90_000, score: 1 }])
  expect(notes).toEqual([])
})

test('an aborted run rejects with the abort reason without blocking other work', async () => {
  const text = fourFreedoms.repeat(20)
  const controller = new AbortController()
  let turns = 0
  const stopped = summarizeText(text, { sentences: 1, signal: controller.signal })
  setImmediate(() => {
    turns += 1
    controller.abort(new Error('stopped by the test'))
  })
  await expect(stopped).rejects.toThrow('stopped by the test')
  expect(turns).toBe(1)
})

test('any text with a word yields a repeatable summary of its own sentences', async () => {
  const pieces = [
    'Dr. ',
    'whale',
    'The ',
    '. ',
    '! ',
    '\n',
    '\n\n',
    '- ',
    '1. ',
    '# ',
    '"',
    '这是。',
    'هل؟',
    '😀',
    '\0',
    'U.S. ',
    '\ud800',
  ]
  const texts = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'grapheme' })), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 1, max: 20 }), async (parts, sentences) => {
      const text = `${parts.join('')} word`
      const result = await summarizeText(text, { sentences })
      expect(await summarizeText(text, { sentences })).toEqual(result)
      expect(result.sentences.length).toBeGreaterThan(0)
      expect(result.sentences.length).toBeLessThanOrEqual(sentences)
      for (const sentence of result.sentences) {
        expect(squeeze(text)).toContain(squeeze(sentence.text))
        expect(sentence.index).toBeLessThan(result.totals.sentences)
        expect(sentence.score >= 0 && sentence.score <= 1).toBe(true)
      }
    }),
  )
})
