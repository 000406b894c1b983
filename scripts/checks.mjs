import { spawn } from 'node:child_process'

/** The static checks: name and command. Each counts as one test. */
const checks = [
  ['types', ['tsc', '-p', '.']],
  ['lint', ['oxlint', '--type-aware', '--deny-warnings']],
  ['format', ['oxfmt', '--check', '.']],
  ['unused code and dependencies', ['knip']],
]

/** Runs a command with its output passed through; resolves with its exit code. */
export function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', (error) => {
      console.error(error.message)
      resolve(1)
    })
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/** Runs every static check, all of them even when one fails. */
export async function runChecks() {
  const failed = []
  for (const [name, [command, ...args]] of checks) {
    const code = await run(command, args)
    console.log(`${code === 0 ? 'passed' : 'FAILED'}: ${name}`)
    if (code !== 0) failed.push(name)
  }
  return { passed: checks.length - failed.length, failed: failed.length }
}
