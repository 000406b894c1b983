import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SystemClock } from '../../server/kernel/clock.ts'
import { FilePayloadStore, payloadFile } from '../../server/payloads/file-payload-store.ts'
import { testPayloadStore } from './payload-contract.ts'

testPayloadStore({
  name: 'files',
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'errand-payloads-'))
    const root = join(folder, 'payloads')
    const newStore = () => new FilePayloadStore(root, new SystemClock())
    return {
      store: newStore(),
      other: newStore(),
      stored: async () =>
        readdirSync(root, { recursive: true, encoding: 'utf8' }).flatMap((name) => /pay_\w+/.exec(name)?.[0] ?? []),
      change: async (id, change) => writeFileSync(payloadFile(root, id), change(readFileSync(payloadFile(root, id)))),
      remove: async (id) => rmSync(payloadFile(root, id)),
      cut: async () => {
        renameSync(root, `${root}-away`)
        writeFileSync(root, '')
      },
      heal: async () => {
        rmSync(root)
        renameSync(`${root}-away`, root)
      },
      close: async () => rmSync(folder, { recursive: true }),
    }
  },
})
