import { execFileSync } from 'node:child_process'
import { test, type TestContext } from 'vitest'
import { demandPart, type TestPart } from './test-parts.ts'

type Run = (context: TestContext) => Promise<void> | void

/** `test` of what needs a part of the machine; `missing` says why that part is not there, or is undefined when it is. */
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

/** Why the command cannot be run; undefined when it can. */
export function missingCommand(command: string, ...args: readonly string[]): string | undefined {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return undefined
  } catch (error) {
    return `${[command, ...args].join(' ')}: ${(error as Error).message.split('\n', 1)[0]}`
  }
}
