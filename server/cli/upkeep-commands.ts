import { readFile } from 'node:fs/promises'
import { resolveDataDir } from '../app/config.ts'
import { documentFile } from '../http/files/docs-pages.ts'
import { compact, print, withStore } from './open-store.ts'
import { requestReload } from './server-socket.ts'

type Common = { data?: string; json?: boolean }

export async function verifyLedgerCommand(options: Common): Promise<void> {
  const report = await withStore(options, (store) => store.verifyLedger())
  const { accounts, differences, ok, transactions } = report
  const lines = differences.map(({ actual, expected, taskId, userId, what }) => {
    return `${userId ?? ''} ${taskId ?? ''} failed the check "${what}": expected ${expected}, found ${actual}`
  })
  const summary = `${count(accounts, 'account')}, ${count(transactions, 'transaction')}: ${ok ? 'the ledger is consistent.' : 'the ledger is NOT consistent.'}`
  print(options, report, [...lines, summary].join('\n'))
  if (!ok) process.exitCode = 1
}

export async function reload(options: Common): Promise<void> {
  const reloaded = await requestReload(resolveDataDir(options.data))
  const { agents, needsRestart } = reloaded
  const rest = needsRestart.length > 0 ? ` Restart the server to change ${needsRestart.join(', ')}.` : ''
  print(options, reloaded, `Reloaded the configuration with ${count(agents.length, 'agent')}.${rest}`)
}

function count(of: number, what: string): string {
  return `${of} ${what}${of === 1 ? '' : 's'}`
}

export async function vacuum(options: Common): Promise<void> {
  const sizes = await compact(options.data)
  const [before, after] = [sizes.bytesBefore, sizes.bytesAfter].map((bytes) => `${Math.ceil(bytes / 1024 ** 2)} MB`)
  print(options, sizes, `The database shrank from ${before} to ${after}.`)
}

export async function printOpenApi(): Promise<void> {
  process.stdout.write(await readFile(documentFile, 'utf8'))
}
