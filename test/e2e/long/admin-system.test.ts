import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { must } from '../../../server/kernel/assert.ts'
import { callApi } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const run = promisify(execFile)
const checkout = fileURLToPath(new URL('../../../', import.meta.url))
const [text, ...others] = quickstart.agents

testConsole(
  'the system page shows the state of the service, and each problem with its fix',
  async (opened) => {
    const { key } = await opened.service.createPerson()
    const page = await opened.open('/admin/system')
    await page.getByText('Consistent').waitFor()
    await page.getByText('The main thread runs the code of').waitFor()
    await opened.check('admin-system')
    expect((await opened.service.createTask(key, 'demo.wait', { seconds: 0 })).status).toBe(200)
    await page.getByRole('heading', { name: 'Problem: Tasks are queued, but none are running' }).waitFor()
    await page.getByText('check that taskConcurrency is not 0').waitFor()
    await opened.check('admin-system-problem')

    // A healthy service cannot report this, so the test edits a hanging thread and a ledger difference into the
    // response.
    await page.route('**/trpc/system.get*', async (route) => {
      const response = await route.fetch()
      const sick = (await response.text())
        .replace('"agentThreads":[]', '"agentThreads":[{"id":1,"running":3,"isResponding":false}]')
        .replace('"ledger":{"ok":true', '"ledger":{"ok":false')
        .replace('"differences":0', '"differences":2')
      await route.fulfill({ response, body: sick })
    })
    await page.getByRole('heading', { name: 'Problem: The ledger check found 2 differences' }).waitFor()
    await page.getByRole('heading', { name: 'Problem: Agent thread 1 is not responding' }).waitFor()
    await page.getByRole('row', { name: 'Thread 1 Not responding 3' }).waitFor()
    await page.getByText('3 issues need attention').waitFor()
    await opened.check('admin-system-sick')
  },
  { isAdmin: true, limits: { taskConcurrency: 0 } },
)

testConsole(
  'the agents page shows prices, rates and visibility, and how to change visibility',
  async (opened) => {
    const page = await opened.open('/admin/agents')
    await page.getByRole('row', { name: /text\.summarize .*\$0\.0100/ }).waitFor()
    await page.getByText('1 user only').waitFor()
    await page.getByRole('link', { name: 'grace@example.com' }).waitFor()
    await page
      .getByRole('table', { name: 'Chat rates of Assistant' })
      .getByRole('row', { name: /^Output/ })
      .waitFor()
    await page.getByText("visibility: ['grace@example.com']").waitFor()
    expect(await page.getByRole('link', { name: 'Open Text tools' }).count()).toBe(0)
    await opened.check('admin-agents')
    await page.getByRole('link', { name: 'Open Data tools' }).click()
    await page.waitForURL('**/agents/data')
  },
  { isAdmin: true, config: { ...quickstart, agents: [{ ...text, visibility: ['grace@example.com'] }, ...others] } },
)

testConsole(
  'the code examples have the same effect from the command line and from a program',
  async (opened) => {
    const { userId } = await opened.service.createPerson({ email: 'grace@example.com', balanceUsd: '1.0000' })
    const page = await opened.open('/admin/platform-keys')
    const created = await callApi(page, 'POST', '/api/platform-keys', { name: 'billing', scopes: ['users', 'credit'] })
    await opened.open(`/admin/users/${userId}`)
    await page.getByLabel('Amount in USD').fill('3')
    await page.getByLabel('Reason (visible to the user)').fill("Grace's invoice")
    await page.getByText('Show code').first().click()
    const curl = await page.getByRole('group', { name: 'curl command' }).first().textContent()
    await page.getByRole('tab', { name: 'TypeScript' }).first().click()
    const program = await page.getByRole('group', { name: 'TypeScript code' }).first().textContent()
    await opened.check('admin-user-code')

    const folder = mkdtempSync(join(checkout, 'test', '.output', 'snippet-'))
    try {
      const env = { ...process.env, ERRAND_PLATFORM_KEY: created.key }
      const { stdout } = await run('sh', ['-c', `set -e\n${must(curl, 'a text')}`], { cwd: folder, env })
      expect(stdout).toContain('"balanceUsd":"4.0000"')
      // Links the package's sources, because Node does not run TypeScript in node_modules.
      const installed = join(folder, 'node_modules', 'errand-client')
      mkdirSync(installed, { recursive: true })
      writeFileSync(join(installed, 'package.json'), '{ "type": "module", "exports": "./client/client.ts" }')
      symlinkSync(join(checkout, 'client'), join(installed, 'client'))
      const file = join(folder, 'snippet.ts')
      writeFileSync(file, must(program, 'a text'))
      const ran = await run(process.execPath, [file], { cwd: folder, env })
      // The Idempotency-Key is the same, so nothing is credited again.
      expect(ran.stdout).toContain("balanceUsd: '4.0000'")
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  { isAdmin: true },
)
