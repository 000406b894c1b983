import { expect, test } from 'vitest'
import { codeOf, isLostConnection } from '../../server/store/postgres/connection/pg-errors.ts'

test.each(['EPIPE', 'ECONNRESET', 'ECONNREFUSED', '57P01', '08006'])('treats %s as a lost connection', (code) => {
  expect(isLostConnection(Object.assign(new Error('write failed'), { code }))).toBe(true)
})

test.each(['23505', 'P0001', 'XX000', '40P01'])('treats %s as a server error, not as a lost connection', (code) => {
  const error = Object.assign(new Error('refused'), { code })
  expect(codeOf(new Error('a query failed', { cause: error }))).toBe(code)
  expect(isLostConnection(error)).toBe(false)
})
