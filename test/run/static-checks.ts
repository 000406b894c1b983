import { spawn } from 'node:child_process'

const checks: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ['types', 'tsc', '-p', '.'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings'],
  ['format', 'oxfmt', '--check', '.'],
  ['unused code and dependencies', 'knip'],
]
const checkMsMax = 600_000

export type CheckResult = { name: string; isPassed: boolean; output: string }

/** Runs all static checks sequentially, even if one fails. */
export async function runStaticChecks(): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  for (const [name, command, ...args] of checks) {
    const { code, output } = await runCommand(command, args)
    results.push({ name, isPassed: code === 0, output })
  }
  return results
}

function runCommand(command: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: checkMsMax })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)))
    child.once('error', (error) => resolve({ code: null, output: error.message }))
    child.once('close', (code, signal) =>
      resolve({ code, output: signal ? `${output}\n${command} was ended by ${signal}.` : output }),
    )
  })
}

export function printChecks(results: readonly CheckResult[]): void {
  for (const { isPassed, name, output } of results) {
    if (!isPassed) console.log(output.trim())
    console.log(`${isPassed ? 'passed' : 'FAILED'}: ${name}`)
  }
}
