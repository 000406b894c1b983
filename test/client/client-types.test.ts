import { expectTypeOf, test } from 'vitest'
import {
  createClient,
  type Account,
  type Agent,
  type ChatEvent,
  type ChatMessagePart,
  type ChatReply,
  type ChatUsage,
  type CreatedKey,
  type EndedTask,
  type ErrandClient,
  type ErrandClientError,
  type Invitation,
  type Key,
  type Login,
  type Message,
  type Session,
  type SessionListItem,
  type System,
  type Task,
  type TaskListItem,
  type Transaction,
  type Usage,
  type User,
} from '../../client/client.ts'
import type { ChatEvent as ServerChatEvent } from '../../server/chat/chat-schema.ts'
import type { ErrorCode } from '../../server/kernel/errors.ts'
import type { AppRouter } from '../../server/edge/root-router.ts'

// The compiler finds the errors; these calls only make the file a test.

const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key' })

type Procedures = AppRouter['_def']['record']
type Missing = {
  [Slice in keyof Procedures]: Exclude<keyof Procedures[Slice], keyof ErrandClient[Slice & keyof ErrandClient]>
}

test('the client has a method for every procedure', () => {
  expectTypeOf<keyof Procedures>().toEqualTypeOf<Exclude<keyof ErrandClient, 'asUser'>>()
  expectTypeOf<Missing[keyof Missing]>().toEqualTypeOf<never>()
})

test('input types match the operations', () => {
  expectTypeOf(client.tasks.create)
    .parameter(0)
    .toExtend<{ endpointId: string; params: Record<string, unknown>; connectorIds?: string[] | undefined }>()
  expectTypeOf(client.tasks.get).parameter(0).toEqualTypeOf<{ taskId: string; wait?: number | undefined }>()
  expectTypeOf(client.keys.create).parameter(0).toExtend<{ scopes?: ('read' | 'execute' | 'manage')[] | undefined }>()
  type Credit = Parameters<typeof client.users.credit>[0]
  expectTypeOf<{ userId: string; amountUsd: string; reason: string }>().toExtend<Credit>()
  expectTypeOf<{ externalId: string; amountUsd: string; reason: string }>().toExtend<Credit>()
  expectTypeOf<{ amountUsd: string; reason: string }>().not.toExtend<Credit>()
  expectTypeOf(client.users.credit).parameter(1).toExtend<{ idempotencyKey?: string | undefined } | undefined>()
  expectTypeOf(client.login.create).parameter(0).toEqualTypeOf<{ email: string; password: string }>()
  expectTypeOf(client.keys.rotate).parameter(0).toEqualTypeOf<{ keyId: string; overlapSeconds?: number | undefined }>()
  expectTypeOf(client.tasks.wait).parameter(0).toBeString()
  expectTypeOf(client.tasks.run).parameter(0).toEqualTypeOf<Parameters<typeof client.tasks.create>[0]>()
  // If every field has a default, no input is required.
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

test('output types match the operations', () => {
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
    next?: string | undefined
  }>()
  expectTypeOf(client.tasks.wait).returns.resolves.toEqualTypeOf<EndedTask>()
  expectTypeOf(client.tasks.run).returns.resolves.toEqualTypeOf<EndedTask>()
  expectTypeOf<EndedTask['status']>().toEqualTypeOf<'completed' | 'failed'>()
  expectTypeOf(client.agents.get).returns.resolves.toEqualTypeOf<Agent>()
  expectTypeOf<Agent['endpoints'][number]['priceUsd']>().toBeString()
  expectTypeOf(client.account.get).returns.resolves.toEqualTypeOf<Account>()
  expectTypeOf<Account['blockedUntil']>().toEqualTypeOf<string | null>()
  expectTypeOf<Account['rateLimit']['resetAt']>().toEqualTypeOf<string | null>()
  expectTypeOf<Transaction['amountUsd']>().toBeString()
  expectTypeOf(client.account.usage).returns.resolves.toEqualTypeOf<Usage>()
  expectTypeOf<Usage['days'][number]>().toEqualTypeOf<{
    date: string
    spentUsd: string
    refundedUsd: string
    reservedUsd: string
    executions: number
    failures: number
  }>()
  expectTypeOf(client.users.get).returns.resolves.toEqualTypeOf<User>()
  expectTypeOf(client.users.update).returns.resolves.toEqualTypeOf<User>()
  expectTypeOf(client.users.list).returns.resolves.toExtend<{ users: User[]; total: number }>()
  expectTypeOf(client.users.transactions).returns.resolves.toExtend<{ transactions: Transaction[] }>()
  expectTypeOf(client.invitations.create).returns.resolves.toExtend<Invitation & { url: string }>()
  expectTypeOf<Invitation['kind']>().toEqualTypeOf<'invitation' | 'sign-up' | 'password'>()
  expectTypeOf<Invitation>().not.toHaveProperty('url')
  expectTypeOf(client.logins.list).returns.resolves.toExtend<{ logins: Login[]; total: number }>()
  expectTypeOf<Login['method']>().toEqualTypeOf<'password' | 'oidc' | 'invitation'>()
  expectTypeOf(client.system.get).returns.resolves.toEqualTypeOf<System>()
  expectTypeOf(client.keys.create).returns.resolves.toEqualTypeOf<CreatedKey>()
  expectTypeOf(client.sessions.get).returns.resolves.toEqualTypeOf<Session>()
  expectTypeOf<Session['status']>().toEqualTypeOf<'active' | 'completed' | 'expired'>()
  expectTypeOf(client.sessions.list).returns.resolves.toExtend<{ sessions: SessionListItem[]; total: number }>()
  expectTypeOf(client.sessions.messages).returns.resolves.toExtend<{ messages: Message[]; total: number }>()
  expectTypeOf<Message['role']>().toEqualTypeOf<'user' | 'assistant'>()
  expectTypeOf<CreatedKey>().toExtend<Key>()
  expectTypeOf<Key>().not.toHaveProperty('key')
})

test('chat events and replies are typed by the server', () => {
  expectTypeOf(client.chat.stream).parameter(0).toEqualTypeOf<{
    sessionId: string
    message: string | ChatMessagePart[]
    params?: { temperature?: number | undefined; maxTokens?: number | undefined } | undefined
    onDisconnect?: 'stop' | 'continue' | undefined
    maxCostUsd?: string | undefined
    quoteId?: string | undefined
    replaces?: string | undefined
  }>()
  expectTypeOf(client.chat.stream).returns.toExtend<AsyncIterable<ChatEvent>>()
  expectTypeOf<ChatEvent>().toEqualTypeOf<ServerChatEvent>()
  expectTypeOf<Extract<ChatEvent, { type: 'done' }>['usage']>().toEqualTypeOf<ChatUsage>()
  expectTypeOf(client.chat.text).returns.resolves.toEqualTypeOf<ChatReply>()
  expectTypeOf<ChatReply['toolCalls'][number]>().toEqualTypeOf<{
    id: string
    name: string
    arguments: Record<string, unknown>
    output?: Record<string, unknown>
  }>()
  const never = async () => {
    for await (const event of client.chat.stream({ sessionId: 'x', message: 'y' })) {
      // @ts-expect-error Only a delta has one.
      void event.delta
      if (event.type === 'tool_call') expectTypeOf(event.toolCall.id).toBeString()
    }
    // @ts-expect-error The message is missing.
    void client.chat.text({ sessionId: 'x' })
  }
  expectTypeOf(never).toBeFunction()
})

test('the error code type contains the codes of the catalog, of chats and of the client', () => {
  expectTypeOf<ErrandClientError['code']>().toEqualTypeOf<
    | ErrorCode
    | 'SESSION_NOT_FOUND'
    | 'AGENT_ERROR'
    | 'AGENT_TIMEOUT'
    | 'AGENT_INTERRUPTED'
    | 'INVALID_ARGUMENT'
    | 'NETWORK_ERROR'
    | 'TIMEOUT'
    | 'BAD_RESPONSE'
    | 'INVALID_SIGNATURE'
  >()
  expectTypeOf<ErrandClientError['status']>().toEqualTypeOf<number | undefined>()
})
