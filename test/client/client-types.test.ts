import { expectTypeOf, test } from 'vitest'
import {
  createClient,
  type Account,
  type Agent,
  type CreatedKey,
  type EndedTask,
  type ErrandClient,
  type ErrandClientError,
  type Key,
  type Task,
  type TaskListItem,
  type Transaction,
} from '../../client/client.ts'
import type { ErrorCode } from '../../server/kernel/errors.ts'
import type { AppRouter } from '../../server/rpc/root-router.ts'

// The compiler is what fails here; these run so that the file is known to be one of the tests.

const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key' })

type Procedures = AppRouter['_def']['record']
type Missing = {
  [Slice in keyof Procedures]: Exclude<keyof Procedures[Slice], keyof ErrandClient[Slice & keyof ErrandClient]>
}

test('the client has a method for every procedure', () => {
  expectTypeOf<keyof Procedures>().toEqualTypeOf<keyof ErrandClient>()
  expectTypeOf<Missing[keyof Missing]>().toEqualTypeOf<never>()
})

test('inputs are those of the operations', () => {
  expectTypeOf(client.tasks.create)
    .parameter(0)
    .toEqualTypeOf<{ endpointId: string; params: Record<string, unknown>; connectorIds?: string[] | undefined }>()
  expectTypeOf(client.tasks.get).parameter(0).toEqualTypeOf<{ taskId: string; wait?: number | undefined }>()
  expectTypeOf(client.keys.create).parameter(0).toExtend<{ scopes?: ('read' | 'execute' | 'manage')[] | undefined }>()
  expectTypeOf(client.keys.rotate).parameter(0).toEqualTypeOf<{ keyId: string; overlapSeconds?: number | undefined }>()
  expectTypeOf(client.tasks.wait).parameter(0).toBeString()
  expectTypeOf(client.tasks.run).parameter(0).toEqualTypeOf<Parameters<typeof client.tasks.create>[0]>()
  // Nothing has to be given where everything has a default.
  expectTypeOf<[]>().toExtend<Parameters<typeof client.tasks.list>>()
  expectTypeOf<[]>().not.toExtend<Parameters<typeof client.tasks.get>>()

  const never = () => {
    // @ts-expect-error The params are missing.
    void client.tasks.create({ endpointId: 'a.b' })
    // @ts-expect-error There is no such state.
    void client.tasks.list({ status: 'done' })
    // @ts-expect-error A key belongs to an operation that can be repeated.
    void client.keys.create({ name: 'x' }, { idempotencyKey: 'x' })
    // @ts-expect-error There is no such field.
    void client.tasks.get({ taskId: 'x', waitSeconds: 1 })
    // @ts-expect-error The key is missing.
    createClient({ baseUrl: 'http://127.0.0.1' })
  }
  expectTypeOf(never).toBeFunction()
})

test('outputs are those of the operations', () => {
  expectTypeOf(client.tasks.create).returns.resolves.toEqualTypeOf<{
    taskId: string
    status: 'pending'
    message: string
  }>()
  expectTypeOf(client.tasks.get).returns.resolves.toEqualTypeOf<Task>()
  expectTypeOf<Task['status']>().toEqualTypeOf<'pending' | 'processing' | 'completed' | 'failed'>()
  expectTypeOf<Task['response']>().toEqualTypeOf<Record<string, unknown> | string | null>()
  expectTypeOf<Task['error']>().toEqualTypeOf<{ code: string; message: string; details: string } | null>()
  expectTypeOf<Task['startedAt']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<Task['costUsd']>().toBeString()
  expectTypeOf(client.tasks.list).returns.resolves.toEqualTypeOf<{
    tasks: TaskListItem[]
    total: number
    limit: number
    offset: number
  }>()
  expectTypeOf(client.tasks.wait).returns.resolves.toEqualTypeOf<EndedTask>()
  expectTypeOf(client.tasks.run).returns.resolves.toEqualTypeOf<EndedTask>()
  expectTypeOf<EndedTask['status']>().toEqualTypeOf<'completed' | 'failed'>()
  expectTypeOf(client.agents.get).returns.resolves.toEqualTypeOf<Agent>()
  expectTypeOf<Agent['endpoints'][number]['priceUsd']>().toBeString()
  expectTypeOf(client.account.get).returns.resolves.toEqualTypeOf<Account>()
  expectTypeOf<Account['blockedUntil']>().toEqualTypeOf<string | null>()
  expectTypeOf<Transaction['amountUsd']>().toBeString()
  expectTypeOf(client.keys.create).returns.resolves.toEqualTypeOf<CreatedKey>()
  expectTypeOf<CreatedKey>().toExtend<Key>()
  expectTypeOf<Key>().not.toHaveProperty('key')
})

test('a code is one of the catalogue or of the client', () => {
  expectTypeOf<ErrandClientError['code']>().toEqualTypeOf<
    ErrorCode | 'INVALID_ARGUMENT' | 'NETWORK_ERROR' | 'TIMEOUT' | 'BAD_RESPONSE'
  >()
  expectTypeOf<ErrandClientError['status']>().toEqualTypeOf<number | undefined>()
})
