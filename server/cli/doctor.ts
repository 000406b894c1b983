import { resolveDatabaseUrl, resolveServe, type ServeOptions } from '../app/config.ts'
import { messageOf } from '../kernel/thrown.ts'
import { checkConfig, checkDrain, checkOpenFiles, checkPort, checkVariables, checkVersions } from './doctor-process.ts'
import {
  checkClock,
  checkDatabase,
  checkDisk,
  checkFolder,
  checkLedger,
  checkModes,
  checkSecret,
} from './doctor-data.ts'
import type { Finding, Installation } from './finding.ts'
import { print } from './open-store.ts'

type Check = (of: Installation) => Promise<Omit<Finding, 'name'>> | Omit<Finding, 'name'>

const checks: Record<string, Check> = {
  versions: checkVersions,
  configuration: checkConfig,
  variables: checkVariables,
  'data directory': checkFolder,
  modes: checkModes,
  disk: checkDisk,
  database: checkDatabase,
  ledger: checkLedger,
  secret: checkSecret,
  clock: checkClock,
  port: checkPort,
  'open files': checkOpenFiles,
  stopping: checkDrain,
}

const marks = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' }

/** Checks an installation for problems without changing it. Sets the exit code to 1 if there is a problem to fix. */
export async function doctor(options: ServeOptions & { json?: boolean }): Promise<void> {
  const { configFile, dataDir, host, port } = resolveServe(options)
  const of = { configFile, dataDir, host, port, hasDatabaseUrl: resolveDatabaseUrl() !== undefined }
  const findings: Finding[] = []
  for (const [name, check] of Object.entries(checks)) {
    try {
      findings.push({ name, ...(await check(of)) })
    } catch (error) {
      findings.push({ name, status: 'problem', message: messageOf(error) })
    }
  }
  const problems = findings.filter(({ status }) => status === 'problem').length
  const lines = findings.map(({ message, name, status }) => `${marks[status]}  ${name}: ${message}`)
  const summary = problems === 0 ? 'No problems found.' : `${problems} of ${findings.length} checks found a problem.`
  print(options, { ok: problems === 0, checks: findings }, [...lines, summary].join('\n'))
  if (problems > 0) process.exitCode = 1
}
