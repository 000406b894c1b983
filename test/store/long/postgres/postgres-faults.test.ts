import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { newId } from '../../../../server/kernel/ids.ts'
import type { Store, StoreLimits } from '../../../../server/store/store.ts'
import { openPostgresStore } from '../../../../server/store/postgres/postgres-store.ts'
import { withPool, type PostgresServer } from '../../../support/postgres-server.ts'
import { describePostgres } from '../../postgres-engine.ts'
import { noLimits } from '../../store-world.ts'

const cuts = ['commit is lost on its way', 'answer to the commit is lost'] as const
/** Faults after which no data gets through, although neither side sees an error. */
const silences = ['commit goes into silence', 'commit is answered by silence'] as const

await describePostgres('faults and nodes', describeFaults)

type Fault = 'none' | (typeof cuts)[number] | (typeof silences)[number]

/** Proxy between a store and its server. Injects a fault once, into the next COMMIT of any connection. */
class Wire {
  next: Fault = 'none'
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(port: number) {
    this.#server = createServer((client) => {
      const upstream = connect(port, '127.0.0.1')
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => this.#sockets.delete(socket))
      }
      const cut = () => {
        client.destroy()
        upstream.destroy()
      }
      let isSilent = false
      client.on('close', () => isSilent || upstream.destroy())
      upstream.on('close', () => isSilent || client.destroy())
      let isMuted = false
      client.on('data', (data) => {
        const fault = data.includes('COMMIT\0') ? this.next : 'none'
        if (fault !== 'none') this.next = 'none'
        if (fault === 'commit is lost on its way') return cut()
        isMuted ||= fault === 'answer to the commit is lost'
        if (!isSilent && fault !== 'commit goes into silence') upstream.write(data)
        isSilent ||= silences.some((silence) => silence === fault)
      })
      upstream.on('data', (data) => {
        if (isSilent) return
        if (isMuted) cut()
        else client.write(data)
      })
    })
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}

function describeFaults({ dropDatabase, newDatabase }: PostgresServer): void {
  const draft = (userId: string) => ({
    taskId: newId('task', Date.now()),
    userId,
    agentId: 'text',
    endpointId: 'text.a',
    cost: 10,
    request: { text: '{}', payloadId: null },
    connectorIds: null,
    idempotency: null,
  })

  async function userWith(store: Store, amount: number): Promise<string> {
    const created = await store.createUser({ email: 'a@example.com', passwordHash: null, isAdmin: false })
    if (created.outcome === 'refused') throw new Error(created.reason)
    await store.credit({ userId: created.userId, amount, description: '', idempotencyKey: null })
    return created.userId
  }

  /**
   * Admits and cancels a task. The fault hits the admission and, with `cancels`, the cancellation too. Silence takes
   * long to detect, so its tests skip the second fault, which would add nothing.
   */
  async function admitThrough(fault: Fault, { cancels }: { cancels: boolean }): Promise<void> {
    const url = new URL(await newDatabase())
    const wire = new Wire(Number(url.port))
    const through = new URL(url)
    through.port = String(await wire.listen())
    const store = await openPostgresStore({ databaseUrl: through.href, limits: noLimits, connectionsMax: 2 })
    const userId = await userWith(store, 1000)
    wire.next = fault
    const task = draft(userId)
    expect(await store.admitTask(task)).toMatchObject({ outcome: 'accepted' })
    expect(wire.next).toBe('none')
    expect(await store.getAccount(userId)).toMatchObject({ balance: 990 })
    expect(await store.listTasks({ userId, limit: 10, offset: 0 })).toMatchObject({ total: 1 })
    expect(await store.verifyLedger()).toMatchObject({ ok: true, transactions: 2 })
    expect((await store.readState()).isWritable).toBe(true)

    expect(await store.claimTask(task.taskId)).toMatchObject({ attempt: 1 })
    if (cancels) wire.next = fault
    const error = { code: 'CANCELED', message: 'Canceled.', details: '' }
    const canceled = await store.cancelTask({ userId, taskId: task.taskId, error, mayStopWork: true })
    expect(canceled).toEqual({ outcome: 'canceled', isAtWork: true })
    expect(wire.next).toBe('none')
    expect(await store.getAccount(userId)).toMatchObject({ balance: 1000 })
    expect(await store.verifyLedger()).toMatchObject({ ok: true, transactions: 3 })
    await store.close()
    await wire.close()
    await dropDatabase(url.href)
  }

  for (const fault of cuts) {
    test(`a task is charged and canceled once, and requests are answered, if the ${fault}`, () =>
      admitThrough(fault, { cancels: true }))
  }

  // Runs the faults in parallel, because each waits until the store gives up the silent connection.
  test(`a task is charged once, and the request is answered, if the ${silences.join(' or the ')}`, async () => {
    await Promise.all(silences.map((fault) => admitThrough(fault, { cancels: false })))
  })

  test('renews leases on another connection in time if a renewal gets no answer', async () => {
    const url = await newDatabase()
    const wire = new Wire(Number(new URL(url).port))
    const through = new URL(url)
    through.port = String(await wire.listen())
    const limits = { ...noLimits, leaseSeconds: 12 }
    const store = await openPostgresStore({ databaseUrl: through.href, limits })
    const task = draft(await userWith(store, 1000))
    await store.admitTask(task)
    expect(await store.claimTask(task.taskId)).toMatchObject({ attempt: 1 })
    const held = { tasks: [{ taskId: task.taskId, attempt: 1 }], turnIds: [] }
    wire.next = 'commit goes into silence'
    await expect(store.shared!.renewLeases(held)).rejects.toThrow('connection to the database was lost')
    expect(await store.abandonedTasks(10)).toEqual([])
    expect(await store.shared!.renewLeases(held)).toMatchObject({ taskIds: [] })
    await store.close()
    await wire.close()
    await dropDatabase(url)
  })

  for (const code of ['40001', '40P01']) {
    test(`retries a transaction that the server aborts with ${code} and writes it once`, async () => {
      const url = await newDatabase()
      // Counts attempts with a sequence, because sequences are not rolled back.
      await withPool(url, (pool) =>
        pool.query(`CREATE SEQUENCE tried;
          CREATE FUNCTION undo_twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('tried') <= 2 THEN RAISE EXCEPTION 'undone' USING ERRCODE = '${code}'; END IF;
            RETURN NEW; END $$;
          CREATE TRIGGER undo_twice BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION undo_twice()`),
      )
      const store = await openPostgresStore({ databaseUrl: url, limits: noLimits })
      const userId = await userWith(store, 1000)
      expect(await store.admitTask(draft(userId))).toMatchObject({ outcome: 'accepted' })
      expect(await store.getAccount(userId)).toMatchObject({ balance: 990 })
      expect((await store.readState()).posted.task_charge).toEqual({ count: 1, units: 10 })
      expect(await store.verifyLedger()).toMatchObject({ ok: true, transactions: 2 })
      await store.close()
      await dropDatabase(url)
    })
  }

  test('replaces connections that the server closes without failing any command', async () => {
    const url = await newDatabase()
    const store = await openPostgresStore({ databaseUrl: url, limits: noLimits, connectionsMax: 3 })
    const userId = await userWith(store, 1000)
    const endAll = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`
    for (let round = 0; round < 3; round++) {
      await withPool(url, (pool) => pool.query(endAll))
      expect(await store.getAccount(userId)).toBeDefined()
      expect(await store.admitTask(draft(userId))).toMatchObject({ outcome: 'accepted' })
    }
    expect(await store.getAccount(userId)).toMatchObject({ balance: 970 })
    expect(await store.verifyLedger()).toMatchObject({ ok: true })
    await store.close()
    await dropDatabase(url)
  })

  test('a command whose wait for its account lock is canceled fails as unavailable', async () => {
    const url = await newDatabase()
    const store = await openPostgresStore({ databaseUrl: url, limits: noLimits, connectionsMax: 3 })
    const userId = await userWith(store, 1000)
    await withPool(url, async (pool) => {
      const holder = await pool.connect()
      await holder.query('BEGIN')
      await holder.query('SELECT 1 FROM accounts FOR UPDATE')
      const refused = expect(
        store.admitTask({ ...draft(userId), idempotency: { key: 'once', bodyHash: 'hash' } }),
      ).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
      const endWaiting = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`
      await expect
        .poll(async () => (await holder.query(endWaiting)).rows.length, { timeout: 20_000 })
        .toBeGreaterThan(0)
      await refused
      await holder.query('ROLLBACK')
      holder.release()
    })
    expect(await store.getAccount(userId)).toMatchObject({ balance: 1000 })
    await store.close()
    await dropDatabase(url)
  })

  async function onTwoNodes(
    limits: Partial<StoreLimits>,
    work: (nodes: [Store, Store]) => Promise<void>,
  ): Promise<void> {
    const url = await newDatabase()
    const open = () => openPostgresStore({ databaseUrl: url, limits: { ...noLimits, ...limits }, connectionsMax: 8 })
    const nodes: [Store, Store] = [await open(), await open()]
    await work(nodes)
    expect(await nodes[0].verifyLedger()).toMatchObject({ ok: true })
    await Promise.all(nodes.map((node) => node.close()))
    await dropDatabase(url)
  }

  test('two nodes together accept exactly as many parallel admissions as the balance covers', async () => {
    await onTwoNodes({}, async (nodes) => {
      const userId = await userWith(nodes[0], 125)
      const admitted = await Promise.all(Array.from({ length: 30 }, (_, n) => nodes[n % 2]!.admitTask(draft(userId))))
      expect(admitted.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(12)
      expect(await nodes[1].getAccount(userId)).toMatchObject({ balance: 5 })
    })
  })

  test("the rate window applies across two nodes, using the database's clock", async () => {
    await onTwoNodes({ executionsPerMinute: 10 }, async (nodes) => {
      const userId = await userWith(nodes[0], 1000)
      const admitted = await Promise.all(Array.from({ length: 30 }, (_, n) => nodes[n % 2]!.admitTask(draft(userId))))
      expect(admitted.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(10)
      const { rate } = admitted.find(({ outcome }) => outcome === 'refused')!
      expect(rate).toMatchObject({ limit: 10, used: 10 })
      expect(Math.abs(rate.now - Date.now())).toBeLessThan(60_000)
    })
  })

  test('a task claimed simultaneously by two nodes goes to one and ends once', async () => {
    await onTwoNodes({}, async (nodes) => {
      const userId = await userWith(nodes[0], 1000)
      for (let n = 0; n < 10; n++) {
        const task = draft(userId)
        await nodes[0].admitTask(task)
        const claims = await Promise.all(nodes.map((node) => node.claimTask(task.taskId)))
        expect(claims.filter(Boolean)).toHaveLength(1)
        const of = { taskId: task.taskId, attempt: 1 }
        const error = { code: 'AGENT_ERROR', message: 'no', details: '' }
        const ends = await Promise.all([
          nodes[0].completeTask({ ...of, response: { text: '{}', payloadId: null } }),
          nodes[1].failTask({ ...of, error, countsAsAbuse: true }),
        ])
        expect(ends.filter(Boolean)).toHaveLength(1)
      }
    })
  })
}
