import { relative } from 'node:path'
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node'
import { mayGoWithout, CannotRun, skipMark, type TestPart } from '../support/test-parts.ts'

export type FileCost = { file: string; seconds: number; tests: number }
export type FailedTest = { test: string; message: string }

/** Records the counts, failures and durations of a vitest run, and the files in progress. */
export class TestRecord implements Reporter {
  passed = 0
  skipped = 0
  readonly failures: FailedTest[] = []
  readonly files: FileCost[] = []
  /** Start times of the files in progress. */
  readonly atWork = new Map<string, number>()
  readonly reasons = new Set<string>()

  onTestModuleStart(module: TestModule): void {
    this.atWork.set(nameOf(module), performance.now())
  }

  onTestCaseResult(test: TestCase): void {
    const result = test.result()
    const name = `${nameOf(test.module)} > ${test.fullName}`
    if (result.state === 'passed') this.passed++
    else if (result.state === 'skipped') this.#noteSkip(name, result.note)
    else if (result.state === 'failed') this.#fail(name, result.errors)
  }

  onTestModuleEnd(module: TestModule): void {
    const file = nameOf(module)
    this.atWork.delete(file)
    const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } = module.diagnostic()
    const ms = collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration
    this.files.push({ file, seconds: ms / 1000, tests: [...module.children.allTests()].length })
    // Errors outside of tests mean that the file failed to load or a hook failed.
    if (module.errors().length > 0) this.#fail(file, module.errors())
    for (const suite of module.children.allSuites())
      if (suite.errors().length > 0) this.#fail(`${file} > ${suite.fullName}`, suite.errors())
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    if (errors.length > 0) this.#fail('outside of any test', errors)
  }

  #noteSkip(name: string, note = 'without a reason'): void {
    this.skipped++
    this.reasons.add(note)
    const part = note.startsWith(skipMark) ? note.slice(skipMark.length).split(':', 1)[0] : undefined
    if (part === undefined || !mayGoWithout(new CannotRun(part as TestPart, note)))
      this.failures.push({
        test: name,
        message: `skipped, ${note}: a test may be skipped only for a part that is left out`,
      })
  }

  #fail(test: string, errors: readonly Failure[] = []): void {
    this.failures.push({ test, message: errors.map(({ message }) => message).join('\n') || 'it failed' })
    // Vitest prints errors only when all tests have ended, which can be 40 minutes later.
    console.error(`FAILED: ${test}\n${errors.map((error) => textOf(error)).join('\n')}`)
  }
}

type Failure = { message?: string; stack?: string | undefined; cause?: unknown }

/** Includes the cause, because only the cause says why a property failed. */
function textOf({ cause, message, stack }: Failure): string {
  const text = stack ?? message ?? 'it failed'
  return cause ? `${text}\nCaused by: ${textOf(cause)}` : text
}

function nameOf({ moduleId, project }: TestModule): string {
  return `[${project.name}] ${relative(process.cwd(), moduleId)}`
}
