import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnyConfig, ErrandClient, UnknownConfig } from '../../client/client.ts'
import type { Checked, ErrandConfig } from '../agents/config/define-config.ts'

export { scriptedModel, type ScriptedModel, type ScriptedReply } from './scripted-model.ts'

export type TestErrandOptions<Config extends ErrandConfig = ErrandConfig> = {
  readonly config: Checked<Config, ErrandConfig>
  /** Balance of the first user; 10.00 by default. */
  readonly balanceUsd?: string
}

export type TestUser<Config extends AnyConfig = UnknownConfig> = {
  readonly userId: string
  readonly email: string
  readonly apiKey: string
  readonly client: ErrandClient<Config>
}

/** The service's clock. It follows the system clock, and a test can move it forward. */
export type TestClock = {
  now(): number
  advance(ms: number): void
}

export type TestErrand<Config extends AnyConfig = UnknownConfig> = TestUser<Config> & {
  readonly url: string
  readonly clock: TestClock
  createUser(options?: { readonly balanceUsd?: string }): Promise<TestUser<Config>>
  /** Waits for runs in progress, stops the service and deletes its data. */
  close(): Promise<void>
}

const usualBalanceUsd = '10.00'

/**
 * Starts a service in this process, on a free port and with its own database in a temporary folder. Agents run in this
 * process too, so that a test can mock their dependencies.
 */
export async function startTestErrand<const Config extends ErrandConfig>({
  config,
  balanceUsd: firstBalanceUsd = usualBalanceUsd,
}: TestErrandOptions<Config>): Promise<TestErrand<Config>> {
  // Import lazily: tests of a single agent only need the scripted model.
  const { createTestUser, openTestService } = await import('./open-test-service.ts')
  const clock = createTestClock()
  const dataDir = await mkdtemp(join(tmpdir(), 'errand-test-'))
  const closers = [() => rm(dataDir, { recursive: true, force: true })]
  const close = async () => {
    for (const closePart of closers.splice(0).toReversed()) await closePart()
  }
  try {
    const app = await openTestService({ clock, config, dataDir })
    closers.push(() => app.stop())
    let userCount = 0
    const createUser = ({ balanceUsd = usualBalanceUsd } = {}) =>
      createTestUser(app, `user-${++userCount}@example.com`, balanceUsd)
    return { ...(await createUser({ balanceUsd: firstBalanceUsd })), url: app.url, clock, createUser, close }
  } catch (error) {
    await close()
    throw error
  }
}

function createTestClock(): TestClock {
  let aheadMs = 0
  return {
    now: () => Date.now() + aheadMs,
    advance: (ms) => {
      if (!(ms >= 0)) throw new Error(`advance: ${ms} must be 0 or more`)
      aheadMs += ms
    },
  }
}
