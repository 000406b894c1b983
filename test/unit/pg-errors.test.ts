import { expect, test } from 'vitest'
import { codeOf, isLostConnection } from '../../server/store/postgres/connection/pg-errors.ts'

test.each(['EPIPE', 'ECONNRESET', 'ECONNREFUSED', '57P01', '08006'])('%s is a lost connection', (code) => {
  expect(isLostConnection(Object.assign(new Error('write failed'), { code }))).toBe(true)
})

test.each(['23505', 'P0001', 'XX000', '40P01'])('%s is what the server said', (code) => {
  const error = Object.assign(new Error('refused'), { code })
  expect(codeOf(new Error('a query failed', { cause: error }))).toBe(code)
  expect(isLostConnection(error)).toBe(false)
})
