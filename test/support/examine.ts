import { runErrand } from './test-process.ts'
import { newDataDir } from './test-service.ts'

type Finding = { name: string; status: string; message: string }
type Report = { ok: boolean; checks: Finding[] }

/** Returns the report and exit code of `errand doctor`. */
export async function examine(dataDir: string, ...more: string[]): Promise<{ code: number; report: Report }> {
  const args = ['doctor', '--data', dataDir, '--port', '0', '--json', ...more]
  return await runErrand(args).then(
    (stdout) => ({ code: 0, report: JSON.parse(stdout) as Report }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, report: JSON.parse(stdout) as Report }),
  )
}

/** Creates a data directory with a user who has a balance. */
export async function makeDatabase(): Promise<string> {
  const dataDir = newDataDir()
  const email = 'ann@example.com'
  await runErrand(['users', 'create', '--email', email, '--data', dataDir])
  await runErrand(['users', 'credit', '--user', email, '--amount-usd', '5', '--data', dataDir])
  return dataDir
}

export const findingOf = ({ checks }: Report, name: string): Finding | undefined =>
  checks.find((check) => check.name === name)
