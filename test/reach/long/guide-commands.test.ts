import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { must } from '../../../server/kernel/assert.ts'
import { PlatformCalls } from '../../api/platform-calls.ts'
import { temporaryFolder } from '../../support/resources.ts'
import { freePort } from '../../support/free-port.ts'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { block, otherBlocks, root, runShell, type GuideBlock } from '../guide-shell.ts'

// Runs every shell block of the guides as written, next to a service, except those for which `elsewhere` has a reason.

const local = 'http://127.0.0.1:3000'
const email = 'ada@example.com'
const testMsMax = 200_000

/**
 * Blocks that this test does not run, as page and part of the text. Each key is the reason, or the test that covers
 * them.
 */
const elsewhere: Record<string, [page: string, text: string][]> = {
  'readme.test.ts': [
    ['README.md', 'api() {'],
    ['README.md', 'TASK=$('],
    ['README.md', 'api /api/webhooks'],
  ],
  'package/clone-scripts.test.ts': [['README.md', 'npm start\n']],
  'test/unit/brand-settings.test.ts': [['docs/guides/accounts.md', 'ERRAND_SERVICE_NAME']],
  'mails/sign-up.test.ts': [['docs/guides/accounts.md', 'ERRAND_SIGN_UP=email']],
  'language-guide.test.ts': [
    ['docs/guides/languages.md', 'export ERRAND_URL'],
    ['docs/guides/languages.md', 'call() {'],
  ],
  'package/server-package.test.ts': [
    ['examples/starter/README.md', 'npm run client'],
    ['examples/starter/README.md', 'npx errand users create'],
  ],
  'client/client-apps.test.ts': [
    ['docs/guides/typescript.md', 'npm install errand-client'],
    ['docs/guides/typescript.md', 'npm run build:client'],
    ['docs/guides/typescript.md', 'node first-task.mts'],
    ['docs/guides/typescript.md', 'npx errand-client types'],
  ],
  'package/deploy-files.test.ts, since it needs Docker': [
    ['docs/guides/containers.md', 'docker build'],
    ['docs/guides/containers.md', 'docker exec'],
    ['docs/guides/containers.md', 'compose.sqlite.yaml'],
    ['docs/guides/containers.md', 'compose.postgres.yaml'],
  ],
  'package/deploy-files.test.ts, since it needs systemd and root': [
    ['docs/guides/systemd.md', 'useradd'],
    ['docs/guides/systemd.md', '/etc/errand'],
    ['docs/guides/systemd.md', 'systemctl'],
    ['docs/guides/systemd.md', 'setpriv'],
  ],
  'test/moving and test/nodes, since they need the tools of PostgreSQL': [
    ['docs/guides/moving-to-postgresql.md', 'createuser'],
    ['docs/guides/operations.md', 'pg_dump'],
    ['docs/guides/scaling.md', '--role worker'],
  ],
  'litestream.test.ts': [
    ['docs/guides/operations.md', 'litestream replicate'],
    ['docs/guides/operations.md', 'litestream restore'],
  ],
  'test/runner/long/sqlite/cli-restore.test.ts': [['docs/guides/operations.md', 'errand restore /var/backups']],
  'test/runner/long/cli-erase.test.ts': [['docs/guides/operations.md', '--leave-saved-method']],
  'test/api/deploy-metrics.test.ts': [['docs/guides/operations.md', 'promtool check']],
  'test/sign-ins': [['docs/guides/connectors.md', '/sign-in']],
  'test/faults/payments.ts, with the stub': [
    ['docs/guides/payments.md', 'npm run stripe-stub'],
    ['docs/guides/payments.md', 'sk_test_stub'],
  ],
  'test/e2e/long/ai-sdk-example.test.ts': [
    ['examples/ai-sdk/README.md', 'npm run errand -- demo'],
    ['examples/ai-sdk/README.md', 'npm run chat-page'],
    ['examples/ai-sdk/README.md', '127.0.0.1:4001'],
  ],
  'test/e2e/long/product-example.test.ts': [['examples/product/README.md', 'npm run product']],
  'test/mails/long/test-command.test.ts': [['docs/guides/mail.md', 'errand mail test']],
  'test/runner/long/sqlite/http-agent-python.test.ts': [['examples/python-agent/README.md', 'agent.py']],
  'nothing: it only installs what others publish, or starts their programs': [
    ['docs/guides/ai-sdk.md', 'npm install errand-client ai'],
    ['examples/adapters/README.md', 'examples/adapters/langgraph'],
    ['docs/guides/mcp.md', 'claude mcp add'],
    ['docs/guides/nextjs.md', 'create-next-app'],
    ['docs/guides/nextjs.md', 'ERRAND_URL='],
    ['docs/guides/operations.md', 'npm install @opentelemetry'],
    ['docs/guides/operations.md', 'ERRAND_MODEL_BASE_URL'],
    ['docs/guides/operations.md', 'TRACES=console'],
    ['docs/guides/operations.md', 'jq -c'],
  ],
}

async function startQuickstart(): Promise<{ service: TestService; key: string; env: Record<string, string> }> {
  const service = await startService({ config: quickstart, privateHosts: ['127.0.0.1'] })
  const { key } = await service.createPerson({ email })
  return { service, key, env: { ERRAND_API_KEY: key, ERRAND_DATA_DIR: service.dataDir } }
}

test(
  'accounts.md: a password set on the command line logs a script in',
  async () => {
    const { env, service } = await startQuickstart()
    const password = 'a long password of ada'
    // The test has no terminal for the prompt.
    const replace = { [`--user ${email}`]: `--user ${email} --password-stdin` }
    await runShell([block('accounts.md', 'set-password')], { cwd: root, env, replace, input: `${password}\n` })
    const login = block('accounts.md', '-c jar')
    const values = { [local]: service.url, 'demo@example.com': email, '"password":"…"': `"password":"${password}"` }
    const printed = await runShell([login], { env, replace: values })
    expect(printed).toContain('"current":true')
    await service.stop()
  },
  testMsMax,
)

test(
  'connectors.md: a connector is added and tested, its tools are listed, and a task and the user call one',
  async () => {
    const { env, key, service } = await startQuickstart()
    const { body: session } = await service.post('/api/sessions', { agentId: 'assistant' }, { key })
    const port = String(await freePort())
    const printed = await runShell(
      [
        block('connectors.md', 'mcp.example.com'),
        block('connectors.md', 'npx mcp-server-everything'),
        `until curl -s http://127.0.0.1:3001/mcp > /dev/null; do sleep 0.1; done`,
        block('connectors.md', 'CONNECTOR=$('),
        block('connectors.md', 'services.call'),
        block('connectors.md', '/call -H'),
        `until curl -s '${local}/api/tasks?status=completed' -H "Authorization: Bearer $ERRAND_API_KEY" | grep '"total":1'; do sleep 0.1; done`,
      ],
      {
        cwd: root,
        env: { ...env, SESSION: session.sessionId as string },
        replace: { [local]: service.url, 3001: port },
      },
    )
    expect(printed).toMatch(/"status":"ok"/)
    expect(printed).toMatch(/"name":"get-sum"/)
    expect(printed).toContain('"text":"The sum of 2 and 40 is 42."')
    const [, taskId] = must(/"taskId":"(\w+)"/.exec(printed) ?? undefined, 'a task was created')
    const { body: task } = await service.get(`/api/tasks/${taskId}`, key)
    expect(JSON.stringify(task.response)).toContain('42')
    await service.stop()
  },
  testMsMax,
)

test(
  'mcp.md, openai.md, webhooks.md and operations.md: the requests succeed',
  async () => {
    const { env, key, service } = await startQuickstart()
    const shell = { env: { ...env, ERRAND_KEY: key }, replace: { [local]: service.url } }
    const tools = await runShell([block('mcp.md', 'tools/list')], shell)
    expect(tools).toMatch(/"name":"text_summarize"/)
    expect(tools).toMatch(/"result":\{"content".*"id":2|"id":2,"result":\{"content"/)
    expect(tools).not.toContain('"isError":true')
    expect(await runShell([block('openai.md', '/v1/chat/completions')], shell)).toContain('data: [DONE]')
    expect(await runShell([block('webhooks.md', '/api/webhooks')], shell)).toContain('"secret":"whsec_')
    expect(await runShell([block('operations.md', '# HELP')], shell)).toContain('# HELP errand_')
    await service.stop()
  },
  testMsMax,
)

test(
  'pricing.md: the import prints the prices that the guide prints',
  async () => {
    const replace = { 'claude-haiku-4-5': `claude-haiku-4-5 --list ${join(temporaryFolder('prices'), 'prices.json')}` }
    const printed = await runShell([block('pricing.md', 'prices import')], { cwd: root, env: {}, replace })
    const guide = readFileSync(join(root, 'docs/guides/pricing.md'), 'utf8')
    const rates = printed.split('\n').filter((line) => line.includes(' -> '))
    expect(rates).toHaveLength(5)
    for (const line of rates) expect(guide).toContain(line)
  },
  testMsMax,
)

test(
  'pricing.md: a platform key reads the economics',
  async () => {
    const { service } = await startQuickstart()
    const { key } = await PlatformCalls.open(service, { scopes: ['economics'] })
    const env = { ERRAND_URL: service.url, ERRAND_PLATFORM_KEY: key }
    const printed = await runShell([block('pricing.md', '/api/admin/economics')], { env })
    expect(printed).toContain('"groupBy":"agent"')
    await service.stop()
  },
  testMsMax,
)

test(
  'operations.md, limits.md, payments.md and selling.md: the commands succeed next to the server',
  async () => {
    const { env, service } = await startQuickstart()
    const created = await runErrand(['keys', 'create', '--user', email, '--name', 'first', '--json'], env)
    const { id, key } = JSON.parse(created) as { id: string; key: string }
    const printed = await runShell([block('operations.md', 'errand users show')], { env, replace: { 'key_…': id } })
    expect(printed).toContain('errand_sk_')
    const ofUser = { ...env, ERRAND_URL: service.url, ERRAND_API_KEY: key }
    const month = await runShell([block('payments.md', '/api/transactions/export')], { env: ofUser })
    expect(month).toMatch(/^id,/)
    const { id: userId } = JSON.parse(await runErrand(['users', 'show', '--user', email, '--json'], env)) as {
      id: string
    }
    await runShell([block('operations.md', 'errand ledger export')], { env })
    expect(await runShell([block('operations.md', 'errand nodes')], { env })).toContain('running tasks')
    const audited = await runShell([block('operations.md', 'errand audit list')], { env })
    expect(audited).toContain(userId)
    expect(audited).toContain('key.')
    const config = join(temporaryFolder('plans'), 'errand.config.ts')
    writeFileSync(config, "export default { agents: [], plans: { free: {}, paid: {} }, defaultPlan: 'free' }")
    const plan = await runShell([block('limits.md', '--plan paid')], {
      cwd: root,
      env: { ...env, ERRAND_CONFIG: config },
    })
    expect(plan).toContain('paid')
    expect(await runShell([block('selling.md', 'platform-keys create')], { env })).toContain('errand_pk_')
    const cwd = temporaryFolder('export')
    await runShell([block('operations.md', 'errand users export')], { env, cwd })
    expect(readFileSync(join(cwd, 'ada.ndjson'), 'utf8')).toContain(email)
    const shown = JSON.parse(await runErrand(['users', 'show', '--user', email, '--json'], env)) as {
      balanceUsd: string
    }
    await runShell([block('operations.md', 'errand users erase')], { env, replace: { '2.50': shown.balanceUsd } })
    await expect(runErrand(['users', 'show', '--user', email], env)).rejects.toThrow()
    await service.stop()
  },
  testMsMax,
)

test(
  'upgrade.md: an installation is backed up, upgraded, and restored from the backup',
  async () => {
    const cwd = temporaryFolder('installation')
    const dataDir = join(cwd, '.errand')
    mkdirSync(dataDir, { mode: 0o700 })
    const env = { ERRAND_DATA_DIR: dataDir, ERRAND_CONFIG: join(root, 'examples/quickstart/errand.config.ts') }
    const server = await startProcess({ dataDir, config: env.ERRAND_CONFIG })
    await runErrand(['users', 'create', '--email', email], env)
    await runErrand(['users', 'credit', '--user', email, '--amount-usd', '5'], env)
    const { key } = JSON.parse(
      await runErrand(['keys', 'create', '--user', email, '--name', 'first', '--json'], env),
    ) as {
      key: string
    }
    // Large params are a payload, which the backup contains as a file.
    const text = 'word '.repeat(10_000)
    const response = await fetch(`${server.url}/api/tasks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ endpointId: 'text.summarize', params: { text } }),
    })
    expect(response.status).toBe(200)
    const home = { HOME: temporaryFolder('owner') }
    await runShell([block('upgrade.md', 'errand backup')], { cwd, env: { ...env, ...home } })
    expect(await server.end('SIGTERM')).toBe(0)
    const back = await runShell([block('upgrade.md', 'errand restore')], { cwd, env: { ...env, ...home } })
    expect(back).toMatch(/is consistent|no differences/i)
    expect(await runErrand(['users', 'show', '--user', email], env)).toContain('4.9')
  },
  testMsMax,
)

test('every shell block of the guides runs in a test, or a reason is given', () => {
  const named = Object.values(elsewhere).flat()
  const isNamed = ({ page, text }: GuideBlock) => named.some(([of, part]) => of === page && text.includes(part))
  expect(otherBlocks().filter((one) => !isNamed(one))).toEqual([])
  const isThere = ([page, part]: [string, string]) =>
    otherBlocks().some((one) => one.page === page && one.text.includes(part))
  expect(named.filter((one) => !isThere(one))).toEqual([])
})
