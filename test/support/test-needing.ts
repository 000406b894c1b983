import { execFileSync } from 'node:child_process'
import { test, type TestContext } from 'vitest'
import { demandPart, type TestPart } from './test-parts.ts'

type Run = (context: TestContext) => Promise<void> | void

/**
 * Returns `test` for tests that need a part of the machine. `missing` is the reason why the part is unavailable, or
 * undefined.
 */
export function testNeeding(part: TestPart, missing: string | undefined) {
  return (title: string, run: Run, timeoutMs?: number): void =>
    test(
      title,
      async (context) => {
        demandPart(context, part, missing)
        await run(context)
      },
      timeoutMs,
    )
}

/** Returns why a command cannot run; undefined if it can. */
export function missingCommand(command: string, ...args: readonly string[]): string | undefined {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return undefined
  } catch (error) {
    return `${[command, ...args].join(' ')}: ${(error as Error).message.split('\n', 1)[0]}`
  }
}
