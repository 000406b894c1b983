import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readChatReceipt } from '../../console/pages/billing/chat-receipt.ts'
import { csvRow } from '../../server/kernel/csv-text.ts'
import { readRates } from '../../server/agents/config/rates-schema.ts'
import { addUse, callUse, chatCost, chatUse } from '../../server/billing/chat-price.ts'
import { receiptRates, storedUse, writtenRates } from '../../server/billing/written-rates.ts'
import { formatUsd } from '../../server/kernel/money.ts'
import { formatExact, withCarried } from '../../server/store/sessions/carried-cost.ts'
import { counts, written } from '../chat/price-cases.ts'
import { acceptsText } from '../../console/pages/chat/compose/accepts.ts'
import { messageText } from '../../console/parts/text/error-text.ts'
import { exactUsdText, roundedUsdText, usdText } from '../../console/parts/text/usd-text.ts'

// Billing computations, tested without a browser: receipt sums and export cells.

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

test("shows the service's messages without field names, and media types as kinds of files", () => {
  const shown = [
    'At least 0.0100 USD is required, but maxCostUsd leaves only 0.0099 USD. Raise maxCostUsd.',
    'The reply reached the cap (maxCostUsd) of the turn or its session. Raise the cap to continue.',
    "maxCostUsd is too low, because the session's charges and holds are 1.0000 USD.",
  ].map(messageText)
  expect(shown).toEqual([
    'At least $0.0100 is required, but the cap leaves only $0.0099. Raise the cap.',
    'The reply reached the cap of the turn or its session. Raise the cap to continue.',
    "The cap is too low, because the session's charges and holds are $1.00.",
  ])
  expect(acceptsText(['image/*', 'application/pdf', 'text/csv', 'application/vnd.ms-excel'])).toBe(
    'images, PDF files, CSV files, and files of the type application/vnd.ms-excel',
  )
})
