import { fdatasyncSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { must } from '../../kernel/assert.ts'
import { codeOf } from '../../kernel/thrown.ts'
import type { LogSynced, LogToSync } from './log-sync.ts'

const port = must(parentPort, 'this runs as a thread')

port.on('message', ({ fd, id }: LogToSync) => {
  let code: string | undefined
  try {
    fdatasyncSync(fd)
  } catch (error) {
    code = codeOf(error) || 'UNKNOWN'
  }
  port.postMessage({ id, code } satisfies LogSynced)
})
