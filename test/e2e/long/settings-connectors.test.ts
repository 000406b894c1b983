import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import type { ErrandConfig } from '../../../server/agents/config/define-config.ts'
import { closedUrl, startStubMcpServer } from '../../api/stub-mcp-server.ts'
import { OAuthServer } from '../../sign-ins/oauth-server.ts'
import { startProtectedServer } from '../../sign-ins/protected-server.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))
const server = { command: process.execPath, args: [everything, 'stdio'] }
const config: ErrandConfig = {
  ...quickstart,
  connectors: {
    servers: {
      everything: { ...server, name: 'Everything', description: 'The reference server of the protocol.' },
      issues: { ...server, name: 'Issues', description: 'With a token of yours.', tokenEnv: 'ISSUES_TOKEN' },
    },
  },
}
const options = { config, privateHosts: ['127.0.0.1'] }
const schema = {
  type: 'object',
  properties: { path: { type: 'string', description: 'Where it is' } },
  required: ['path'],
}
const tools = [
  { name: 'look', title: 'Look', description: 'Looks at a file.', inputSchema: schema },
  {
    name: 'touch',
    description: 'Touches it.',
    inputSchema: { type: 'object', properties: {} },
    annotations: { destructiveHint: true },
  },
]

testConsole(
  'a server can be added by URL with headers, tested, restricted, changed and deleted',
  async (opened) => {
    const mcp = await startStubMcpServer({ tools })
    const page = await opened.open('/settings/connectors')
    await page.getByText('No connectors yet').waitFor()
    await opened.check('connectors-empty')
    await page.getByRole('button', { name: 'Add connector' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Authentication').selectOption('headers')
    await dialog.getByRole('button', { name: 'Add and test' }).click()
    for (const text of ['Enter the server URL', 'Enter a name', 'Enter the name'])
      await dialog.getByText(text).first().waitFor()
    await dialog.getByRole('button', { name: 'Add header' }).click()
    await opened.check('connector-add')
    await dialog.getByLabel('URL', { exact: true }).fill(mcp.url)
    await dialog.getByLabel('Name', { exact: true }).fill('Docs')
    await dialog.getByLabel('Name of header 1').fill('X-Api-Key')
    await dialog.getByLabel('Value of header 1').fill('first-secret')
    await dialog.getByLabel('Name of header 2').fill('X-Team')
    await dialog.getByLabel('Value of header 2').fill('blue')
    await dialog.getByRole('button', { name: 'Remove header 2' }).click()
    await dialog.getByRole('button', { name: 'Show code' }).click()
    expect(await dialog.getByRole('group', { name: 'curl command', exact: true }).textContent()).not.toContain(
      'first-secret',
    )
    await dialog.getByRole('button', { name: 'Add and test' }).click()

    await page.getByRole('heading', { name: 'Docs', level: 1 }).waitFor()
    await page.getByRole('status').getByText('Working').waitFor()
    await page.getByRole('heading', { name: 'Tools (2)' }).waitFor()
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
    expect(mcp.seen.at(-1)).toMatchObject({ 'x-api-key': 'first-secret' })
    expect(mcp.seen.at(-1)).not.toHaveProperty('x-team')
    await page.getByRole('button', { name: 'Arguments of look' }).click()
    await page.getByText('Where it is').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Touches it.' }).getByText('Destructive').waitFor()
    await page.getByLabel('Only selected tools').check()
    await page.getByRole('checkbox', { name: 'touch' }).uncheck()
    await page.getByText('1 selected').waitFor()
    await opened.check('connector-tools')
    await page.getByRole('button', { name: 'Save tools' }).click()
    await page.getByText('Tools saved.').waitFor()
    expect((await kept(opened))[0]).toMatchObject({ allowedTools: ['look'], authType: 'headers' })

    // Secrets are kept unless they are entered again.
    await page.getByLabel('Name', { exact: true }).fill('Documents')
    await page.getByRole('button', { name: 'Save connection' }).click()
    await page.getByRole('heading', { name: 'Documents', level: 1 }).waitFor()
    expect((await kept(opened))[0]).toMatchObject({ name: 'Documents', authType: 'headers', allowedTools: ['look'] })
    await page.getByLabel('Authentication').selectOption('bearer')
    await page.getByLabel('Token', { exact: true }).fill('second-secret')
    await page.getByRole('button', { name: 'Save connection' }).click()
    await page.getByText('Leave empty to keep the current token.').waitFor()
    await page.getByRole('heading', { name: 'Tools (2)' }).waitFor()
    expect(mcp.seen.at(-1)).toMatchObject({ authorization: 'Bearer second-secret' })
    expect(await page.getByLabel('Token', { exact: true }).inputValue()).toBe('')

    await page.getByRole('link', { name: 'Connectors', exact: true }).last().click()
    const row = page.getByRole('row', { name: 'Documents' })
    await row.getByText('Working').waitFor()
    // The page may load the tools again after the server has stopped.
    opened.allow(/status of 424/)
    await mcp.stop()
    await row.getByRole('button', { name: 'Test connector Documents' }).click()
    await row.getByText('Failed').waitFor()
    await opened.check('connectors-filled')
    await row.getByRole('link', { name: 'Documents' }).click()
    await page.getByText('The server is not available').waitFor()
    await page.getByRole('status').getByText('Failed').waitFor()
    await opened.check('connector-failed')
    await page.getByRole('button', { name: 'Delete connector Documents' }).click()
    await dialog.getByRole('button', { name: 'Delete connector' }).click()
    await page.getByText('No connectors yet').waitFor()
    expect(await kept(opened)).toEqual([])
  },
  options,
)

testConsole(
  "an operator's server can be added by keyboard alone, with its tools and a token",
  async (opened) => {
    const page = await opened.open('/settings/connectors')
    await page.getByRole('button', { name: 'Add connector' }).first().focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: 'By URL' }).focus()
    await page.keyboard.press('ArrowRight')
    await dialog.getByLabel('Server', { exact: true }).focus()
    await page.keyboard.type('Everything')
    await dialog.getByText('The reference server of the protocol.').waitFor()
    expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('Everything')
    expect(await dialog.getByLabel('Authentication').count()).toBe(0)
    await dialog.getByLabel('Name', { exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /Tools \(\d{2}\)/ }).waitFor()
    await page.getByText('get-sum', { exact: true }).waitFor()
    await page.getByLabel('Search tools').fill('sum')
    await page.getByText(/^1 of \d+ tools$/).waitFor()
    await opened.check('connector-everything')

    await opened.open('/settings/connectors')
    await page.getByRole('button', { name: 'Add connector' }).click()
    await dialog.getByText('Provided by the operator').click()
    await dialog.getByLabel('Server', { exact: true }).selectOption('issues')
    await dialog.getByRole('button', { name: 'Add and test' }).click()
    await dialog.getByText('Enter the token').waitFor()
    await opened.check('connector-offered')
    await dialog.getByLabel('Token', { exact: true }).fill('a-token-of-mine')
    await dialog.getByRole('button', { name: 'Add and test' }).click()
    await page.getByRole('heading', { name: 'Issues', level: 1 }).waitFor()
    await page.getByRole('status').getByText('Working').waitFor()
    expect((await kept(opened))[0]).toMatchObject({ server: 'issues', authType: 'bearer' })
  },
  options,
)

testConsole(
  'errors appear at their field: URLs, names, secrets for another host, server responses',
  async (opened) => {
    opened.allow(/status of 4(?:00|09|24|04)/)
    const page = await opened.open('/settings/connectors')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add connector' }).first().click()
    await dialog.getByLabel('Name', { exact: true }).fill('Docs')
    for (const [url, message] of [
      ['https://10.0.0.7/mcp', 'Must be a public URL'],
      ['http://mcp.example.com/', 'Must be an https URL'],
      ['no address', 'Must be an https URL'],
      ['https://me:secret@mcp.example.com/', 'Must not contain credentials'],
    ] as const) {
      await dialog.getByLabel('URL', { exact: true }).fill(url)
      await dialog.getByRole('button', { name: 'Add and test' }).click()
      await dialog.getByText(message).waitFor()
      await page.waitForFunction(() => document.activeElement?.getAttribute('type') === 'url')
    }
    await opened.check('connector-refused')
    await dialog.getByLabel('URL', { exact: true }).fill(await closedUrl())
    await dialog.getByLabel('Authentication').selectOption('headers')
    await dialog.getByLabel('Name of header 1').fill('Host')
    await dialog.getByLabel('Value of header 1').fill('elsewhere')
    await dialog.getByRole('button', { name: 'Add and test' }).click()
    await dialog.getByText('Must be omitted, because the connection sets this header').waitFor()
    await dialog.getByLabel('Authentication').selectOption('bearer')
    await dialog.getByLabel('Token', { exact: true }).fill('a-token-of-mine')
    await dialog.getByRole('button', { name: 'Add and test' }).click()
    await page.getByText('The server is not available').waitFor()
    await page.getByText(/Connector "Docs"/).waitFor()

    await page.getByLabel('URL', { exact: true }).fill('https://mcp.example.com/mcp')
    await page.getByRole('button', { name: 'Save connection' }).click()
    await page.getByText('Must be sent again').waitFor()
    await opened.open('/settings/connectors')
    await page.getByRole('button', { name: 'Add connector' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('Docs')
    await dialog.getByLabel('URL', { exact: true }).fill('https://mcp.example.com/mcp')
    await dialog.getByRole('button', { name: 'Add and test' }).click()
    await dialog.getByText('Must be different from the names of your other connectors').waitFor()
    await opened.open('/settings/connectors?connector=con_00000000000000000000000000')
    await page.getByText('No connector with this ID').waitFor()
    await opened.check('connector-unknown')
  },
  options,
)

testConsole(
  'a tool can be tried with its form, and a destructive one asks before it is called',
  async (opened) => {
    const { service, visitor } = opened
    const mcp = await startStubMcpServer({ tools })
    const key = await service.createKey(visitor.userId, ['manage'])
    const open = async (connector: object) => {
      const { body } = await service.post('/api/connectors', connector, { key })
      return await opened.open(`/settings/connectors?connector=${body.id}`)
    }
    const page = await open({ name: 'Everything', server: 'everything' })
    const dialog = page.getByRole('dialog')
    const call = dialog.getByRole('button', { name: 'Call tool' })
    await page.getByRole('button', { name: 'Try get-sum' }).click()
    await call.click()
    expect(await dialog.locator('input[aria-invalid="true"]').count()).toBe(2)
    await dialog.getByRole('textbox', { name: 'A', exact: true }).fill('2')
    await dialog.getByRole('textbox', { name: 'B', exact: true }).fill('40')
    await call.click()
    await dialog.getByRole('status').getByText('The sum of 2 and 40 is 42.').waitFor()
    await opened.check('tool-tried')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Try get-tiny-image' }).click()
    await dialog.getByText('This tool has no arguments.').waitFor()
    await call.click()
    await dialog.getByRole('img').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Try get-structured-content' }).click()
    await dialog.getByRole('textbox', { name: 'Location' }).click()
    await page.getByRole('option', { name: 'Chicago' }).click()
    await call.click()
    await dialog.getByRole('button', { name: 'Structured output' }).click()
    await dialog.getByRole('group', { name: 'structured output of get-structured-content' }).getByText('36').waitFor()

    await open({ name: 'Docs', url: mcp.url })
    await page.getByRole('button', { name: 'Try touch' }).click()
    const requests = mcp.seen.length
    await call.click()
    const question = page.getByRole('dialog', { name: 'Call touch?' })
    await question.getByText('Its server declares this tool as destructive.').waitFor()
    await opened.check('tool-destructive')
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'hidden' })
    expect(mcp.seen.length).toBe(requests)
    await call.click()
    await question.getByRole('button', { name: 'Call tool' }).click()
    await dialog.getByRole('status').getByText('{}').waitFor()
    expect(mcp.seen.length).toBeGreaterThan(requests)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Try look' }).click()
    await dialog.getByRole('textbox', { name: 'Path' }).fill('/tmp')
    opened.allow(/status of 424/)
    await mcp.stop()
    await call.click()
    await dialog.getByText('Could not call the tool').waitFor()
    await opened.check('tool-failed')
  },
  options,
)

async function kept({ service, visitor }: OpenConsole) {
  return (await service.app.store.listConnectors({ userId: visitor.userId, limit: 9, offset: 0 })).connectors
}

testConsole(
  "a user can sign in at a connector's server, return to its page and sign out",
  async (opened) => {
    const oauth = await OAuthServer.start()
    const mcp = await startProtectedServer({ issuer: () => oauth.issuer })
    mcp.check = (token) => oauth.isGood(token, mcp.url)
    const page = await opened.open('/settings/connectors')
    await page.getByRole('button', { name: 'Add connector' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Authentication').selectOption('oauth')
    await dialog.getByLabel('URL', { exact: true }).fill(mcp.url)
    await dialog.getByLabel('Name', { exact: true }).fill('Mail')
    await dialog.getByLabel('Client secret').fill('a-secret')
    await dialog.getByRole('button', { name: 'Add and test' }).click()
    await dialog.getByText('Enter the client ID').waitFor()
    await dialog.getByLabel('Client secret').fill('')
    await dialog.getByRole('button', { name: 'Add and test' }).click()

    await page.getByRole('heading', { name: 'Mail', level: 1 }).waitFor()
    await page.getByRole('status').getByText('Sign-in required').waitFor()
    await page.getByText('Sign in to see the tools.').waitFor()
    await opened.check('connector-sign-in')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Sign in again' }).waitFor()
    expect(new URL(page.url()).searchParams.get('signIn')).toBe('done')
    await page.getByRole('status').getByText('Working').waitFor()
    await page.getByRole('heading', { name: 'Tools (1)' }).waitFor()
    await opened.check('connector-signed-in')

    await page.getByRole('button', { name: 'Sign out of Mail' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('status').getByText('Sign-in required').waitFor()
    await page.goto(page.url().replace('signIn=done', 'signIn=denied'))
    await page.getByText('Access was denied.').waitFor()
    await opened.check('connector-sign-in-denied')
    await mcp.stop()
    await oauth.stop()
  },
  options,
)
