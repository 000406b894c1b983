import { afterEach, expect, test, vi } from 'vitest'
import { createServiceLog } from '../../server/app/service-log.ts'

afterEach(() => void vi.useRealTimers())

test('logs full-disk errors once a minute with the skipped count, and other errors always', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const lines: Record<string, unknown>[] = []
  const log = createServiceLog('info', {
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  })
  const full = new Error('could not write', { cause: Object.assign(new Error('full'), { code: 'SQLITE_FULL' }) })
  for (let n = 0; n < 5; n++) log.error({ err: full, requestId: `${n}` }, 'a request failed')
  log.error({ err: new Error('other') }, 'a request failed')
  log.info({}, 'fine')
  vi.advanceTimersByTime(60_000)
  log.warn({ err: Object.assign(new Error('no room'), { code: 'ENOSPC' }) }, 'the queue could not be read')
  expect(lines.map(({ linesSkipped, msg }) => [msg, linesSkipped])).toEqual([
    ['the disk is full. Free up space: a request failed', 0],
    ['a request failed', undefined],
    ['fine', undefined],
    ['the disk is full. Free up space: the queue could not be read', 4],
  ])
})
