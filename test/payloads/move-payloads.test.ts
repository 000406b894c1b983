import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { movePayloads } from '../../server/cli/move-payloads.ts'
import { SystemClock } from '../../server/kernel/clock.ts'
import { FilePayloadStore } from '../../server/payloads/file-payload-store.ts'
import { png } from '../support/sample-files.ts'

test('files that are no text are moved as they are', async () => {
  const root = mkdtempSync(join(tmpdir(), 'errand-move-'))
  const clock = new SystemClock()
  const files = new FilePayloadStore(join(root, 'from'), clock)
  const target = new FilePayloadStore(join(root, 'to'), clock)
  const image = png()
  const { digest, id } = await files.write(image)
  const moved = await movePayloads([[[id, digest.bytes, digest.sha256]]], { files, target })
  expect(moved).toEqual({ count: 1, bytes: image.length, damaged: [], firstLost: undefined })
  expect(image.equals(await target.readBytes(id, digest))).toBe(true)
  rmSync(root, { recursive: true })
})
