import { cp, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { resolveDataDir } from '../config.ts'
import { documentFile } from '../http/docs-pages.ts'
import { print, withStore } from './open-store.ts'

type Common = { data?: string; json?: boolean }

export async function verifyLedgerCommand(options: Common): Promise<void> {
  const report = await withStore(options, (store) => store.verifyLedger())
  const { accounts, differences, ok, transactions } = report
  const lines = differences.map(({ actual, expected, taskId, userId, what }) => {
    return `${userId ?? ''} ${taskId ?? ''} not so: ${what}; expected ${expected}, found ${actual}`
  })
  const summary = `${accounts} accounts, ${transactions} transactions: ${ok ? 'the ledger adds up.' : 'the ledger does NOT add up.'}`
  print(options, report, [...lines, summary].join('\n'))
  if (!ok) process.exitCode = 1
}

export async function backup(file: string, options: Common): Promise<void> {
  if (await stat(file).catch(() => undefined)) throw new Error(`${file} exists already; a backup goes into a new file.`)
  await withStore(options, (store) => store.backup(file))
  // After the database: whatever it names is then in the folder, and what came later does no harm.
  const payloads = join(resolveDataDir(options.data), 'payloads')
  const hasPayloads = (await stat(payloads).catch(() => undefined)) !== undefined
  if (hasPayloads) {
    await cp(payloads, `${file}.payloads`, { recursive: true, filter: (name) => !name.endsWith('.partial') })
  }
  print(
    options,
    { file, payloads: hasPayloads ? `${file}.payloads` : null },
    hasPayloads ? `Wrote ${file} and ${file}.payloads.` : `Wrote ${file}.`,
  )
}

export async function printOpenApi(): Promise<void> {
  process.stdout.write(await readFile(documentFile, 'utf8'))
}
