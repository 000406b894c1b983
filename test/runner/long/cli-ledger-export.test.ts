import { expect, test } from 'vitest'
import { runErrand } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { besideServer, openAccount } from '../process-client.ts'

type Failure = { code: number; stderr: string }

/** More than two pages of the export. */
const credits = 2100

test('exports every transaction once as NDJSON and CSV, and only those within the given times', async () => {
  const dataDir = newDataDir()
  const { userId } = await openAccount(dataDir)
  const balance = await besideServer(dataDir, async (store) => {
    const request = { text: '{}', payloadId: null }
    const task = { userId, agentId: 'test', endpointId: 'test.echo', cost: 100, request, taskId: 'task_1' }
    await store.admitTask({ ...task, connectorIds: null, idempotency: null })
    const credit = { userId, amount: 1, description: '=1+1, "quoted"', idempotencyKey: null }
    for (let n = 0; n < credits; n += 100) await Promise.all(Array.from({ length: 100 }, () => store.credit(credit)))
    return (await store.getAccount(userId))!.balance
  })
  const run = (...args: string[]) => runErrand(['ledger', 'export', '--data', dataDir, ...args])
  const rows = async (...args: string[]) =>
    (await run('--format', 'ndjson', ...args))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))

  const all = await rows()
  expect(all).toHaveLength(credits + 2)
  expect(new Set(all.map(({ id }) => id)).size).toBe(credits + 2)
  expect(Math.round(all.reduce((sum, { amountUsd }) => sum + Number(amountUsd) * 10_000, 0))).toBe(balance)
  expect(all[1]).toEqual({
    id: expect.stringMatching(/^txn_/),
    userId,
    type: 'task_charge',
    amountUsd: '-0.0100',
    balanceAfterUsd: '999.9900',
    taskId: 'task_1',
    description: expect.any(String),
    createdAt: expect.stringMatching(/^20.*Z$/),
  })
  expect(Number(all.at(-1).balanceAfterUsd) * 10_000).toBeCloseTo(balance)

  const [header, ...lines] = (await run()).trimEnd().split('\r\n')
  expect(header).toBe('createdAt,id,userId,type,amountUsd,balanceAfterUsd,taskId,sessionId,turnId,topupId,description')
  expect(lines.map((line) => line.split(',')[1])).toEqual(all.map(({ id }) => id))
  expect(lines[0]).toMatch(/^20[^,]*Z,txn_[^,]*,user_[^,]*,credit,1000\.0000,1000\.0000,,,,,Test balance$/)
  // A spreadsheet must not evaluate the description.
  expect(lines.at(-1)).toMatch(/,,,,,"'=1\+1, ""quoted"""$/)

  const middle = all[1000].createdAt as string
  const [before, after] = [await rows('--to', middle), await rows('--from', middle)]
  expect([...before, ...after].map(({ id }) => id).toSorted()).toEqual(all.map(({ id }) => id).toSorted())
  expect(before.every(({ createdAt }) => createdAt < middle)).toBe(true)
  expect(after.every(({ createdAt }) => createdAt >= middle)).toBe(true)
  expect(await run('--from', '2999-01-01T00:00:00Z')).toBe(`${header}\r\n`)

  const refused = (...args: string[]) => run(...args).catch(({ code, stderr }: Failure) => ({ code, stderr }))
  expect(await refused('--from', 'yesterday')).toEqual({
    code: 2,
    stderr: 'errand: --from: Must be an ISO 8601 time such as 2026-01-31T12:00:00Z\n',
  })
  expect(await refused('--format', 'xml')).toMatchObject({ code: 2, stderr: expect.stringContaining('csv, ndjson') })
})
