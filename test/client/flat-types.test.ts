import type { inferRouterInputs, inferRouterOutputs, inferTRPCClientTypes } from '@trpc/server'
import { expectTypeOf, test } from 'vitest'
import type { AppRouter as FlatRouter } from '../../client/trpc/app-router.ts'
import type { ClientErrorCode, ClientOnlyCode } from '../../client/client-error.ts'
import type {
  ChatEvent,
  ChatInput,
  ErrorCode,
  ErrorDetail,
  Mutations,
  Queries,
  TaskEvent,
} from '../../client/types/api-types.ts'
import type { ChatEvent as ServerChatEvent } from '../../server/chat/chat-schema.ts'
import type { streamCode } from '../../server/chat/event-lines.ts'
import type { TurnEndCode } from '../../server/chat/turn-ends.ts'
import type { ErrorCode as ServerErrorCode, ErrorDetail as ServerErrorDetail } from '../../server/kernel/errors.ts'
import type { TaskEvent as ServerTaskEvent } from '../../server/tasks/task-schema.ts'
import type { AppRouter } from '../../server/edge/root-router.ts'

// The compiler finds the errors: the client's types and the server's schemas must match in both directions.

type In = inferRouterInputs<AppRouter>
type Out = inferRouterOutputs<AppRouter>

/** Procedures by path, as in the generated file, without streams. */
type Paths = {
  [Slice in keyof In]: `${Slice}.${Extract<keyof In[Slice], string>}`
}[keyof In]
type Flat = Queries & Mutations

type At<Types, Path extends string> = Path extends `${infer Slice}.${infer Name}`
  ? Slice extends keyof Types
    ? Name extends keyof Types[Slice]
      ? Types[Slice][Name]
      : never
    : never
  : never

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
/** For operations without input, the client sends `{}`. */
type Inferred<Path extends string> =
  At<In, Path> extends void | Record<string, never> ? Record<string, unknown> : At<In, Path>

type WrongInputs = {
  [Path in keyof Flat]: Same<Flat[Path]['input'], Inferred<Path>> extends true ? never : Path
}[keyof Flat]
type WrongOutputs = {
  [Path in keyof Flat]: Same<Flat[Path]['output'], At<Out, Path>> extends true ? never : Path
}[keyof Flat]

test('every operation has flat types, and nothing else does', () => {
  expectTypeOf<
    keyof Flat | 'chat.stream' | 'chat.resume' | 'chat.resumeSession' | 'tasks.events'
  >().toEqualTypeOf<Paths>()
  expectTypeOf<keyof Queries & keyof Mutations>().toEqualTypeOf<never>()
})

test('flat and inferred inputs and outputs are mutually assignable', () => {
  expectTypeOf<Flat['tasks.create']['input']>().toEqualTypeOf<In['tasks']['create']>()
  expectTypeOf<Flat['tasks.get']['output']>().toEqualTypeOf<Out['tasks']['get']>()
  expectTypeOf<WrongInputs>().toEqualTypeOf<never>()
  expectTypeOf<WrongOutputs>().toEqualTypeOf<never>()
})

test('events, errors and error codes match the server', () => {
  expectTypeOf<ChatEvent>().toEqualTypeOf<ServerChatEvent>()
  expectTypeOf<TaskEvent>().toEqualTypeOf<ServerTaskEvent>()
  expectTypeOf<ChatInput>().toEqualTypeOf<In['chat']['stream']>()
  expectTypeOf<ErrorCode>().toEqualTypeOf<ServerErrorCode>()
  expectTypeOf<ErrorDetail>().toEqualTypeOf<ServerErrorDetail>()
  expectTypeOf<ClientErrorCode>().toEqualTypeOf<
    ServerErrorCode | ReturnType<typeof streamCode> | TurnEndCode | ClientOnlyCode
  >()
})

type FlatIn = inferRouterInputs<FlatRouter>
type FlatOut = inferRouterOutputs<FlatRouter>
/** Returns the items of a stream in place of the stream. */
type Items<Output> = Output extends AsyncIterable<infer Item> ? { item: Item } : Output
type WrongRoutes = {
  [Path in Paths]: Same<At<FlatIn, Path>, At<In, Path>> extends true
    ? Same<Items<At<FlatOut, Path>>, Items<At<Out, Path>>> extends true
      ? never
      : Path
    : Path
}[Paths]

test('the exported router type matches the router', () => {
  expectTypeOf<WrongRoutes>().toEqualTypeOf<never>()
  expectTypeOf<keyof FlatIn>().toEqualTypeOf<keyof In>()
  type Kinds<Router extends { _def: { record: object } }> = {
    [Slice in keyof Router['_def']['record']]: {
      [Name in keyof Router['_def']['record'][Slice]]: Router['_def']['record'][Slice][Name] extends {
        _def: { type: infer Type }
      }
        ? Type
        : never
    }
  }
  expectTypeOf<Kinds<FlatRouter>>().toEqualTypeOf<Kinds<AppRouter>>()
  expectTypeOf<inferTRPCClientTypes<FlatRouter>['transformer']>().toEqualTypeOf<
    inferTRPCClientTypes<AppRouter>['transformer']
  >()
  expectTypeOf<
    Same<inferTRPCClientTypes<FlatRouter>['errorShape'], inferTRPCClientTypes<AppRouter>['errorShape']>
  >().toEqualTypeOf<true>()
})
