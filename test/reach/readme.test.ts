import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import quickstart from '../../examples/quickstart/errand.config.ts'
import { missingCommand, testNeeding } from '../support/test-needing.ts'
import { startService } from '../support/test-service.ts'

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Returns the README's commands from the start of the service to the ledger check, for a service at that URL. */
function commandsFor(url: string): string {
  const blocks = Array.from(
    readFileSync(file('README.md'), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm),
    ([, own]) => own!,
  )
  const lines = blocks.filter((block) => /\bapi\b/.test(block)).join('')
  return lines.replace(/^export ERRAND_API_KEY=.*$/m, '').replaceAll('http://127.0.0.1:3000', url)
}

/** Loads the README's own agent from a folder of the repository, as imports of `errand` resolve only there. */
async function agentOfReadme(): Promise<(typeof quickstart)['agents'][number]> {
  const [, code = ''] =
    /^```ts\n(import \{ defineConfig[\s\S]*?)^```$/m.exec(readFileSync(file('README.md'), 'utf8')) ?? []
  const folder = mkdtempSync(file('.readme-'))
  try {
    const config = join(folder, 'errand.config.ts')
    writeFileSync(config, code)
    const loaded = (await import(config)) as { default: typeof quickstart }
    return loaded.default.agents[0]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

testNeeding('curl', missingCommand('curl', '--version'))(
  'the commands in the README run as written: a capped chat, a receipt, a refund, a webhook, an own agent',
  async () => {
    const service = await startService({
      config: { ...quickstart, agents: [...quickstart.agents, await agentOfReadme()] },
    })
    const { key } = await service.createPerson()
    const options = { env: { ...process.env, ERRAND_API_KEY: key }, timeout: 60_000 }
    const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', commandsFor(service.url)], options)
    expect(stdout).toMatch(/"type":"done",.*"costUsd":"0\.0005"/)
    expect(stdout).toMatch(/"type":"chat_charge","amountUsd":"-0\.0005"/)
    expect(stdout).toMatch(/"status":"failed",.*"refundedUsd":"0\.0100"/)
    expect(stdout).toMatch(/"type":"task_refund","amountUsd":"0\.0100"/)
    expect(stdout).toMatch(/"secret":"whsec_/)
    expect(stdout).toMatch(/"status":"completed",.*"words":3/)
    expect((await service.get('/api/webhooks', key)).body.total).toBe(1)
    await service.stop()
  },
)
