import { spawn } from 'node:child_process'
import { once } from 'node:events'

export async function runCommand(command, args, options) {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 2], ...options })
  const [code, signal] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed with ${signal ?? code}.`)
}

export async function installLocked(folder, ...args) {
  const cli = process.env.npm_execpath
  // Hide engine warnings, which concern only the old Node version that runs this script. Errors are still shown.
  const all = ['ci', ...args, '--no-audit', '--no-fund', '--loglevel=error']
  const node = process.env.npm_node_execpath ?? process.execPath
  if (cli) await runCommand(node, [cli, ...all], { cwd: folder })
  else await runCommand('npm', all, { cwd: folder })
}

/** Waits for all promises, so that nothing is still running after a failure. Then throws the first failure. */
export async function waitForAll(promises) {
  const failure = (await Promise.allSettled(promises)).find(({ status }) => status === 'rejected')
  if (failure) throw failure.reason
}
