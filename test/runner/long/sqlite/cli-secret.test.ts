import type { ConnectorRecord } from '../../../../server/store/connectors/connector-types.ts'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { grantOwner, SecretVault } from '../../../../server/kernel/secret-vault.ts'
import { startStubMcpServer } from '../../../api/stub-mcp-server.ts'
import { sendsMail } from '../../../../server/store/mails/mail-types.ts'
import { runErrand, startProcess, type ServerProcess } from '../../../support/test-process.ts'
import { newDataDir } from '../../../support/test-service.ts'
import { besideServer, openAccount } from '../../process-client.ts'

const env = { ERRAND_CONNECTOR_PRIVATE_HOSTS: '127.0.0.1' }
const given = { first: 'the first secret given', second: 'the second secret given', third: 'the third secret given' }
const counts = (reencrypted: number, unchanged: number, unreadable: string[] = []) => ({
  reencrypted,
  unchanged,
  unreadable,
})

type Failure = { code: number; stdout: string; stderr: string }

async function rotate(dataDir: string, own: Record<string, string> = {}): Promise<{ code: number; counts: object }> {
  const args = ['secret', 'rotate', '--data', dataDir, '--json']
  const { code, stdout } = await runErrand(args, own).then(
    (text) => ({ code: 0, stdout: text }),
    (failure: Failure) => failure,
  )
  return { code, counts: JSON.parse(stdout) as object }
}

const fileOf = (dataDir: string) => join(dataDir, 'secret')
const linesOf = (dataDir: string) => readFileSync(fileOf(dataDir), 'utf8').trim().split('\n')

function sealedOf(dataDir: string): Promise<ConnectorRecord[]> {
  return besideServer(dataDir, (store) => store.sealedConnectors({ afterId: '', limit: 1000 }))
}

/** Returns the tokens of all connectors that can be decrypted with this secret alone. */
async function tokensUnder(dataDir: string, current: string): Promise<string[]> {
  const vault = new SecretVault(() => ({ current, previous: [] }))
  const records = await sealedOf(dataDir)
  return records.map(({ id: connectorId, sealed, userId }) => vault.open(sealed!, { userId, connectorId })['token']!)
}

/** Stores connectors with tokens `token-0`, … as a server with that secret would, ordered by id. */
async function keep(dataDir: string, secret: string, { count = 1, from = 0 } = {}): Promise<string[]> {
  const { userId } = await openAccount(dataDir, `person-${from}@example.com`)
  const vault = new SecretVault(() => ({ current: secret, previous: [] }))
  const ids = Array.from({ length: count }, (_, n) => `con_${String(from + n).padStart(26, '0')}`)
  await besideServer(dataDir, async (store) => {
    for (const [n, connectorId] of ids.entries()) {
      const sealed = vault.seal({ token: `token-${from + n}` }, { userId, connectorId })
      const connector = { userId, connectorId, name: `n${n}`, url: 'https://example.com/', server: null, sealed }
      await store.createConnector({ ...connector, authType: 'bearer', allowedTools: null })
    }
  })
  return ids
}

test("rotation replaces the data directory's secret, keeps the old secret and can be repeated", async () => {
  const dataDir = newDataDir()
  const first = 'the-secret-of-the-directory'
  writeFileSync(fileOf(dataDir), first)
  await keep(dataDir, first, { count: 3 })
  expect(await rotate(dataDir)).toEqual({ code: 0, counts: counts(3, 0) })
  const [second = '', ...behind] = linesOf(dataDir)
  expect(second).toMatch(/^[\w-]{43}$/)
  expect(behind).toEqual([first])
  expect(statSync(fileOf(dataDir)).mode & 0o777).toBe(0o600)
  expect(await tokensUnder(dataDir, second)).toEqual(['token-0', 'token-1', 'token-2'])

  expect(await rotate(dataDir)).toEqual({ code: 0, counts: counts(3, 0) })
  const [third = ''] = linesOf(dataDir)
  expect(linesOf(dataDir).slice(0, 2)).toEqual([third, second])
  expect(await tokensUnder(dataDir, third)).toEqual(['token-0', 'token-1', 'token-2'])
  const said = await runErrand(['secret', 'rotate', '--data', dataDir])
  expect(said).toMatch(
    /^Re-encrypted 3 secrets of connectors, webhooks and emails; 0 already used the current secret\.\n$/,
  )
  rmSync(dataDir, { recursive: true })
})

test('re-encrypts all connectors of all users, even if there are many', async () => {
  const dataDir = newDataDir()
  const first = 'the-secret-of-the-directory'
  writeFileSync(fileOf(dataDir), first)
  for (let from = 0; from < 450; from += 90) await keep(dataDir, first, { count: 90, from })
  expect(await rotate(dataDir)).toEqual({ code: 0, counts: counts(450, 0) })
  const tokens = await tokensUnder(dataDir, linesOf(dataDir)[0]!)
  expect(tokens).toEqual(Array.from({ length: 450 }, (_, n) => `token-${n}`))
  rmSync(dataDir, { recursive: true })
})

test('re-encrypts sign-in tokens for the same connector, owner and issuer', async () => {
  const dataDir = newDataDir()
  const first = 'the-secret-of-the-directory'
  writeFileSync(fileOf(dataDir), first)
  const [connectorId = ''] = await keep(dataDir, first)
  const issuer = 'https://auth.example.com'
  const vaultOf = (current: string) => new SecretVault(() => ({ current, previous: [] }))
  const grants = await besideServer(dataDir, async (store) => {
    const [{ updatedAt, userId }] = (await store.sealedConnectors({ afterId: '', limit: 1 })) as [ConnectorRecord]
    const sealed = vaultOf(first).seal({ kept: 'tokens' }, grantOwner({ userId, connectorId, issuer }))
    const grant = { userId, connectorId, issuer, sealed, expiresInMs: null, ifUpdatedAt: updatedAt }
    expect(await store.grants.keep(grant)).toBe(true)
    return await store.grants.sealed({ afterId: '', limit: 10 })
  })
  expect(await rotate(dataDir)).toEqual({ code: 0, counts: counts(2, 0) })
  const [after] = await besideServer(dataDir, (store) => store.grants.sealed({ afterId: '', limit: 10 }))
  expect(after).toEqual({ ...grants[0]!, sealed: expect.not.stringContaining(grants[0]!.sealed) })
  const vault = vaultOf(linesOf(dataDir)[0]!)
  expect(vault.open(after!.sealed, grantOwner(after!))).toEqual({ kept: 'tokens' })
  expect(() => vault.open(after!.sealed, grantOwner({ ...after!, issuer: 'https://evil.example.com' }))).toThrow()
  rmSync(dataDir, { recursive: true })
})

test('re-encrypts the links of mails that are not sent yet, and names those it cannot decrypt', async () => {
  const dataDir = newDataDir()
  const first = 'the-secret-of-the-directory'
  writeFileSync(fileOf(dataDir), first)
  await openAccount(dataDir, 'admin@example.com')
  const link = { url: 'https://errand.example.com/invitations/one' }
  const vaultOf = (current: string) => new SecretVault(() => ({ current, previous: [] }))
  await besideServer(dataDir, async (store) => {
    await store.settings.replace(sendsMail, 'yes')
    for (const [mailId, secret] of [
      ['mail_1', first],
      ['mail_2', 'a secret that was lost'],
    ] as const) {
      const person = { kind: 'invitation', email: `${mailId}@example.com`, isAdmin: false, credit: 0 } as const
      const mail = { mailId, sealed: vaultOf(secret).seal(link, { mailId }) }
      const expiresAt = Date.now() + 3_600_000
      await store.createInvitation({
        ...person,
        tokenHash: mailId,
        userId: null,
        createdBy: 'user_admin',
        expiresAt,
        mail,
      })
    }
  })
  expect(await rotate(dataDir)).toEqual({ code: 1, counts: counts(1, 0, ['mail_2']) })
  const [mail] = await besideServer(dataDir, (store) => store.mails.sealed({ afterId: '', limit: 10 }))
  expect(vaultOf(linesOf(dataDir)[0]!).open(mail!.sealed, { mailId: mail!.id })).toEqual(link)
  rmSync(dataDir, { recursive: true })
})

/** Creates connectors on a server process and tests them against a server that records tokens. */
async function startConnecting(service: ServerProcess, key: string) {
  const server = await startStubMcpServer()
  const call = async (method: string, path: string, body?: object): Promise<any> => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    return await (await fetch(service.url + path, init)).json()
  }
  return {
    stop: server.stop,
    create: async (name: string): Promise<string> => {
      const auth = { type: 'bearer', token: `token-of-${name}` }
      return (await call('POST', '/api/connectors', { name, url: server.url, auth })).id
    },
    /** Returns the token that the service sends for this connector. */
    tokenOf: async (id: string): Promise<string | undefined> => {
      server.seen.length = 0
      expect(await call('POST', `/api/connectors/${id}/test`)).toMatchObject({ status: 'ok' })
      return server.seen[0]?.authorization?.slice('Bearer '.length)
    },
  }
}

test('a running server keeps decrypting and encrypting through rotations without a restart', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const service = await startProcess({ dataDir, env })
  const connecting = await startConnecting(service, key)
  const names = ['one', 'two', 'three']
  const ids: string[] = []
  for (const [rounds, name] of names.entries()) {
    ids.push(await connecting.create(name))
    // New encryptions use the new secret, although it was not reread.
    const current = linesOf(dataDir)[0]!
    expect(await tokensUnder(dataDir, current)).toEqual(names.slice(0, rounds + 1).map((one) => `token-of-${one}`))
    for (const [n, id] of ids.entries()) expect(await connecting.tokenOf(id)).toBe(`token-of-${names[n]}`)
    expect(await rotate(dataDir)).toEqual({ code: 0, counts: counts(rounds + 1, 0) })
  }
  for (const [n, id] of ids.entries()) expect(await connecting.tokenOf(id)).toBe(`token-of-${names[n]}`)
  await connecting.stop()
  expect(await service.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('rotates between secrets from the environment without creating a file', async () => {
  const dataDir = newDataDir()
  await keep(dataDir, given.first, { count: 2 })
  const change = { ERRAND_SECRET: given.second, ERRAND_SECRET_PREVIOUS: given.first }
  expect(await rotate(dataDir, change)).toEqual({ code: 0, counts: counts(2, 0) })
  expect(await tokensUnder(dataDir, given.second)).toEqual(['token-0', 'token-1'])
  expect(await rotate(dataDir, change)).toEqual({ code: 0, counts: counts(0, 2) })
  expect(await rotate(dataDir, { ERRAND_SECRET: given.second })).toEqual({ code: 0, counts: counts(0, 2) })
  expect(existsSync(fileOf(dataDir))).toBe(false)
  rmSync(dataDir, { recursive: true })
})

test("rotates from the data directory's secret to a secret from the environment", async () => {
  const dataDir = newDataDir()
  const kept = 'the-secret-of-the-directory'
  writeFileSync(fileOf(dataDir), kept)
  await keep(dataDir, kept)
  expect(await rotate(dataDir, { ERRAND_SECRET: given.first })).toEqual({ code: 0, counts: counts(1, 0) })
  expect(linesOf(dataDir)).toEqual([kept])
  expect(await tokensUnder(dataDir, given.first)).toEqual(['token-0'])
  rmSync(dataDir, { recursive: true })
})

test('reports unreadable connectors with exit 1, leaves them unchanged and rotates the rest', async () => {
  const dataDir = newDataDir()
  const lost = await keep(dataDir, given.third, { count: 2 })
  await keep(dataDir, given.first, { count: 2, from: 10 })
  const before = await sealedOf(dataDir)
  const change = { ERRAND_SECRET: given.second, ERRAND_SECRET_PREVIOUS: given.first }
  expect(await rotate(dataDir, change)).toEqual({ code: 1, counts: counts(2, 0, lost) })
  expect((await sealedOf(dataDir)).slice(0, 2)).toEqual(before.slice(0, 2))
  const failure = await runErrand(['secret', 'rotate', '--data', dataDir], change).catch((error: Failure) => error)
  expect(failure).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^Re-encrypted 0 secrets .*; 2 already used/),
  })
  for (const id of lost) expect((failure as Failure).stdout).toContain(`${id} is encrypted with an unknown secret`)
  // With the secret that encrypted them, they can be decrypted again.
  expect(await rotate(dataDir, { ERRAND_SECRET: given.second, ERRAND_SECRET_PREVIOUS: given.third })).toEqual({
    code: 0,
    counts: counts(2, 2),
  })
  rmSync(dataDir, { recursive: true })
})

test('rejects a secret that is too short and changes nothing', async () => {
  const dataDir = newDataDir()
  await keep(dataDir, given.first)
  const before = await sealedOf(dataDir)
  for (const own of [
    { ERRAND_SECRET: 'short' },
    { ERRAND_SECRET: given.second, ERRAND_SECRET_PREVIOUS: 'short' },
  ] as Record<string, string>[]) {
    const failure = await runErrand(['secret', 'rotate', '--data', dataDir], own).catch((error: Failure) => error)
    expect(failure).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/at least 16 characters/) })
  }
  expect(await sealedOf(dataDir)).toEqual(before)
  rmSync(dataDir, { recursive: true })
})

test('rotating after an interrupted rotation loses nothing', async () => {
  const dataDir = newDataDir()
  const [first, second] = ['the-secret-of-the-directory', 'the-one-that-was-to-follow']
  await keep(dataDir, first, { count: 2 })
  // The new secret is in the file, but everything is encrypted with the old one.
  writeFileSync(fileOf(dataDir), `${second}\n${first}\n`)
  expect(await rotate(dataDir)).toEqual({ code: 0, counts: counts(2, 0) })
  expect(await tokensUnder(dataDir, linesOf(dataDir)[0]!)).toEqual(['token-0', 'token-1'])
  rmSync(dataDir, { recursive: true })
})

test('rotation re-encrypts webhook secrets, which stay the same', async () => {
  const dataDir = newDataDir()
  const [first, second] = [given.first, given.second]
  const { userId } = await openAccount(dataDir, 'told@example.com')
  const of = { userId, webhookId: 'hook_00000000000000000000000000' }
  const sealed = new SecretVault(() => ({ current: first, previous: [] })).seal({ current: 'whsec_x' }, of)
  const webhook = { ...of, url: 'https://example.com/', description: '', types: null, sealed }
  await besideServer(dataDir, (store) => store.webhooks.create(webhook))
  const own = { ERRAND_SECRET: second, ERRAND_SECRET_PREVIOUS: first }
  expect(await rotate(dataDir, own)).toEqual({ code: 0, counts: counts(1, 0) })
  const kept = await besideServer(dataDir, (store) => store.webhooks.get(of))
  expect(new SecretVault(() => ({ current: second, previous: [] })).open(kept!.sealed, of)).toEqual({
    current: 'whsec_x',
  })
  rmSync(dataDir, { recursive: true })
})
