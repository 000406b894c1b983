import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { exportLines } from '../../account/export-account.ts'
import type { Common } from '../command-options.ts'
import { openOwnPayloads } from '../transfer-commands.ts'
import { findUserId, withParts } from './operator.ts'

export async function exportUser(options: Common & { user: string }): Promise<void> {
  const payloads = await openOwnPayloads(options)
  try {
    await withParts(options, async (parts) => {
      const userId = await findUserId(parts, options)
      await parts.store.audit.note({ action: 'user.exported', userId })
      await pipeline(Readable.from(exportLines({ ...parts, payloads }, userId)), process.stdout, { end: false })
    })
  } finally {
    await payloads.close()
  }
}
