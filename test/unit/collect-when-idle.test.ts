import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const module = new URL('../../server/kernel/threads/collect-when-idle.ts', import.meta.url).href

/** Prints the MB of the heap before a burst, and those after it once they no longer fall or 2 s are over. */
const script = `
  import { setTimeout as delay } from 'node:timers/promises'
  import { collectWhenIdle } from '${module}'
  const mb = () => Math.round(process.memoryUsage().heapUsed / 2 ** 20)
  collectWhenIdle(50)
  const before = mb()
  let burst = Array.from({ length: 500_000 }, (_, n) => ({ n, text: 'text ' + n }))
  const most = mb()
  burst = undefined
  let after = most
  for (let n = 0; n < 200 && after > before + 10; n++) {
    await delay(10)
    after = mb()
  }
  console.log(JSON.stringify({ before, most, after }))
`

test('an idle thread collects what its last burst left', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])

  const { after, before, most } = JSON.parse(stdout) as { after: number; before: number; most: number }
  expect(most).toBeGreaterThan(before + 32)
  expect(after).toBeLessThanOrEqual(before + 10)
})
