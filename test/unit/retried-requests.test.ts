import { expect, test, vi } from 'vitest'
import { RetriedRequests } from '../../server/openai/retried-requests.ts'

test('a request is known until a minute after its reader has left, and one that is refused is not', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const retried = new RetriedRequests()
    const left = retried.add('a', Promise.resolve('turn_1'))
    vi.advanceTimersByTime(3_600_000)
    expect(await retried.find('a')).toBe('turn_1')
    left()
    vi.advanceTimersByTime(60_000)
    // To leave again is no news.
    left()
    expect(await retried.find('a')).toBe('turn_1')
    vi.advanceTimersByTime(1)
    expect(retried.find('a')).toBeUndefined()
    const refusal = Promise.reject(new Error('refused'))
    retried.add('b', refusal)
    await expect(retried.find('b')).rejects.toThrow('refused')
    expect(retried.find('b')).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})

test('the refusal of a request does not make a later one unknown that is the same', async () => {
  const retried = new RetriedRequests()
  const first = Promise.withResolvers<string>()
  retried.add('a', first.promise)
  retried.add('a', Promise.resolve('turn_2'))
  first.reject(new Error('refused'))
  await first.promise.catch(() => {})
  expect(await retried.find('a')).toBe('turn_2')
})

test('of very many requests the newest are known', async () => {
  const retried = new RetriedRequests()
  for (let n = 0; n <= 10_000; n++) retried.add(`${n}`, Promise.resolve(`turn_${n}`))
  expect(retried.find('0')).toBeUndefined()
  expect([await retried.find('1'), await retried.find('10000')]).toEqual(['turn_1', 'turn_10000'])
})
