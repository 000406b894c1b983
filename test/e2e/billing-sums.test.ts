import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createClient, type Transaction } from '../../client/client.ts'
import { readChatReceipt } from '../../console/pages/billing/chat-receipt.ts'
import { csvRow } from '../../server/kernel/csv-text.ts'
import { TransactionExport, type ListTransactions } from '../../console/pages/billing/transaction-export.ts'
import { readRates } from '../../server/agents/config/rates-schema.ts'
import { addUse, callUse, chatCost, chatUse } from '../../server/billing/chat-price.ts'
import { receiptRates, storedUse, writtenRates } from '../../server/billing/written-rates.ts'
import { formatUsd } from '../../server/kernel/money.ts'
import { formatExact, withCarried } from '../../server/store/sessions/carried-cost.ts'
import { counts, written } from '../chat/price-cases.ts'
import { startService } from '../support/test-service.ts'
import { exactUsdText, roundedUsdText, usdText } from '../../console/parts/text/usd-text.ts'

// Billing computations, tested without a browser: receipt sums, export cells and paging.

/** Returns a decimal string as an integer number of trillionths. */
function trillionths(usd: string): bigint {
  const [whole, fraction = ''] = usd.split('.')
  return BigInt(whole! + fraction.padEnd(12, '0'))
}

test("a receipt adds up to the service's charge, to the last digit", () => {
  fc.assert(
    fc.property(fc.array(counts), written, fc.nat(3), fc.nat(99_999), (calls, prices, share, carried) => {
      const priced = readRates(prices)
      const use = calls.map((call) => callUse(call, priced)).reduce(addUse, chatUse({ toolCalls: calls.length }))
      const cost = chatCost(use, priced)
      const { carriedOn, due } = withCarried(cost, carried)
      const writtenOff = Math.floor((due * share) / 4)
      const breakdown = {
        ...storedUse(use),
        rates: writtenRates(priced),
        isEstimated: false,
        exactUsd: formatExact(cost),
        carriedBeforeUsd: formatExact({ cost: 0, remainder: carried }),
        carriedAfterUsd: formatExact({ cost: 0, remainder: carriedOn }),
        ...(writtenOff > 0 && { writtenOffUsd: formatUsd(writtenOff) }),
      }
      const receipt = readChatReceipt({ amountUsd: formatUsd(writtenOff - due), breakdown })
      const exact = receipt.lines.reduce((sum, { amountUsd }) => sum + trillionths(amountUsd), 0n)
      expect(trillionths(receipt.exactUsd)).toBe(exact)
      expect(receipt.costUsd).toBe(formatUsd(due))
      expect(receipt.chargedUsd).toBe(formatUsd(due - writtenOff))
      const adjusted = receipt.adjustments.reduce((sum, { amountUsd }) => {
        return amountUsd.startsWith('-') ? sum - trillionths(amountUsd.slice(1)) : sum + trillionths(amountUsd)
      }, exact)
      expect(adjusted).toBe(trillionths(receipt.costUsd))
      expect(receipt.addsUp).toBe(true)
      const other = formatExact({ ...cost, cost: cost.cost + 1 })
      expect(
        readChatReceipt({ amountUsd: formatUsd(writtenOff - due), breakdown: { ...breakdown, exactUsd: other } })
          .addsUp,
      ).toBe(false)
    }),
    { numRuns: 500 },
  )
})

/** Returns the receipt for one token at this rate. */
function oneToken(inputPer1kUsd: string, amountUsd: string) {
  const rest = { cachedInputPer1kUsd: '0', outputPer1kUsd: '0', reasoningPer1kUsd: '0', toolCallUsd: '0' }
  const use = { promptTokens: 1, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0, toolCalls: 0 }
  return readChatReceipt({
    amountUsd,
    breakdown: { ...use, rates: receiptRates({ inputPer1kUsd, ...rest }), isEstimated: false },
  })
}

test('a receipt from before fractions were carried over is rounded on its own, half up', () => {
  const half = oneToken('0.05', '-0.0001')
  expect(half).toMatchObject({ exactUsd: '0.00005', costUsd: '0.0001', addsUp: true })
  expect(half.adjustments).toMatchObject([{ amountUsd: '0.00005' }])
  const below = oneToken('0.049999', '0.0000')
  expect(below).toMatchObject({ exactUsd: '0.000049999', costUsd: '0.0000', addsUp: true })
  expect(below.adjustments).toMatchObject([{ amountUsd: '-0.000049999' }])
})

test('detects a receipt whose components do not add up to its charge', () => {
  expect(oneToken('0.1', '-0.0001').addsUp).toBe(true)
  expect(oneToken('0.1', '-0.0002').addsUp).toBe(false)
})

test('quotes cells according to RFC 4180 and keeps numbers as numbers', () => {
  expect(csvRow(['plain', 'a,b', 'say "hi"', 'two\r\nlines', undefined, -0.5, '-12.5000', true])).toBe(
    'plain,"a,b","say ""hi""","two\r\nlines",,-0.5,-12.5000,true\r\n',
  )
})

test('no cell is read as a formula, regardless of the separator a spreadsheet assumes', () => {
  const formulas = ['=1+1', '+1+1', '-1+1', '@SUM(A1)', '\t=1+1', '\r=1+1', ' =1+1', '\uFF1D1+1', '-1.5e3', '+1']
  for (const text of formulas) {
    for (const before of ['', 'a;', 'a\t', 'a|', 'a\n', 'a\r\n', 'a; ']) {
      // With any of these separators, quotes in the middle of a cell have no meaning.
      const cells = csvRow([before + text]).split(/[;\t|\r\n]/)
      for (const cell of cells) expect(cell, JSON.stringify(before + text)).not.toMatch(/^["\s]*[=+\-@\uFF1D]/)
    }
  }
})

test('an export contains each transaction before its start once, even while new ones are added', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson({ balanceUsd: '0.0000' })
  const { store } = service.app
  const credit = (n: number) => store.credit({ userId, amount: n, description: `=Credit ${n}`, idempotencyKey: null })
  for (let n = 1; n <= 230; n++) await credit(n)
  const client = createClient({ baseUrl: service.url, apiKey: key })
  let next = 231
  let pages = 0
  const list: ListTransactions = async (input, options) => {
    const page = await client.transactions.list(input, options)
    // Adds more than a page of rows after the first page, so that the next page contains only new rows.
    for (const end = next + (pages++ === 0 ? 130 : 3); next < end; next++) await credit(next)
    return page
  }
  const seen: { done: number; total: number }[] = []
  const work = new TransactionExport(list, { type: 'credit' })
  const csv = await work.run({ signal: new AbortController().signal, onProgress: (now) => seen.push(now) })
  const [header, ...lines] = csv.split('\r\n')
  expect(header).toMatch(/^id,createdAt,type,description,amountUsd,balanceAfterUsd,/)
  expect(lines.pop()).toBe('')
  expect(lines.map((line) => line.split(',')[3])).toEqual(Array.from({ length: 230 }, (_, n) => `'=Credit ${230 - n}`))
  expect(new Set(lines.map((line) => line.split(',')[0])).size).toBe(230)
  expect(seen.at(-1)).toEqual({ done: 230, total: 230 })
  expect(seen.map(({ total }) => total)).toEqual(seen.map(() => 230))
  await service.stop()
})

test('a failed export resumes where it stopped, and a canceled export ends', async () => {
  const transaction = (n: number): Transaction => ({
    id: `txn_${n}`,
    userId: 'user_1',
    type: 'credit',
    amountUsd: '1.0000',
    balanceAfterUsd: '1.0000',
    description: 'Credit',
    createdAt: '2026-01-15T12:00:00.000Z',
  })
  const offsets: number[] = []
  let breaks = true
  const list = async ({ offset = 0, limit = 50 } = {}) => {
    offsets.push(offset)
    if (offset === 100 && breaks) throw new Error('It broke.')
    const transactions = Array.from({ length: Math.min(limit, 150 - offset) }, (_, n) => transaction(offset + n))
    return { transactions, total: 150, limit, offset }
  }
  const abort = new AbortController()
  const run = { signal: abort.signal, onProgress: () => {} }
  const work = new TransactionExport(list, {})
  await expect(work.run(run)).rejects.toThrow('It broke.')
  breaks = false
  expect((await work.run(run)).split('\r\n').length).toBe(152)
  expect(offsets).toEqual([0, 100, 100])

  const cancelled = new TransactionExport(async (input) => {
    abort.abort()
    return await list(input)
  }, {})
  await expect(cancelled.run(run)).rejects.toThrow(/abort/)
})

test('amounts of zero, and from one dollar up, have two decimals if that is exact', () => {
  const amounts = ['0.0000', '1.0000', '-1250.5000', '12.3456', '0.5000', '0.000000000', '150']
  expect(amounts.map(usdText)).toEqual(['$0.00', '$1.00', '−$1,250.50', '$12.3456', '$0.5000', '$0.000000000', '$150'])
  expect(amounts.slice(0, 2).map(exactUsdText)).toEqual(['$0.0000', '$1.0000'])
})

test('amounts in figures are rounded to cents from one dollar up', () => {
  const amounts = ['0.000000000', '0.012345678', '-0.0100', '12.3450', '-1.9949', '9.9951', '643006.7876']
  expect(amounts.map(roundedUsdText)).toEqual([
    '$0.00',
    '$0.0123',
    '−$0.0100',
    '$12.35',
    '−$1.99',
    '$10.00',
    '$643,006.79',
  ])
})
