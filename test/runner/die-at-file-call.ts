import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

// Kills the process before its nth change of a file, as DIE_AT_FILE_CALL says.

let left = Number(process.env.DIE_AT_FILE_CALL)
for (const name of ['renameSync', 'mkdirSync', 'rmSync', 'fsyncSync'] as const) {
  const call = fs[name] as (...args: unknown[]) => unknown
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      if (--left === 0) process.kill(process.pid, 'SIGKILL')
      return call(...args)
    },
  })
}
syncBuiltinESMExports()
