import type { TRPCBuiltRouter, TRPCDefaultErrorShape, TRPCMutationProcedure, TRPCQueryProcedure } from '@trpc/server'
import type { ChatEvent, ChatInput, ErrorCode, ErrorDetail, Mutations, Queries, TaskEvent } from '../client.ts'

// Type of the service's tRPC router, for programs that use `@trpc/client` instead of `createClient`.

type Query<Input, Output> = TRPCQueryProcedure<{ input: Input; output: Output; meta: object }>
type Mutation<Input, Output> = TRPCMutationProcedure<{ input: Input; output: Output; meta: object }>

type SliceOf<Path> = Path extends `${infer Slice}.${string}` ? Slice : never
type NameIn<Path, Slice extends string> = Path extends `${Slice}.${infer Name}` ? Name : never
/** Operations without fields can be called without input. */
type CallInput<Input> = string extends keyof Input ? Record<string, never> | void : Input

type CallProcedures = {
  [Slice in SliceOf<keyof Queries | keyof Mutations>]: {
    [Path in keyof Queries as NameIn<Path, Slice>]: Query<CallInput<Queries[Path]['input']>, Queries[Path]['output']>
  } & {
    [Path in keyof Mutations as NameIn<Path, Slice>]: Mutation<
      CallInput<Mutations[Path]['input']>,
      Mutations[Path]['output']
    >
  }
}

/** Call these operations through `httpBatchStreamLink`. */
type StreamProcedures = {
  chat: {
    stream: Mutation<ChatInput, AsyncIterable<ChatEvent>>
    resume: Query<{ turnId: string; after?: number | undefined }, AsyncIterable<ChatEvent> | null>
    resumeSession: Query<{ sessionId: string }, AsyncIterable<ChatEvent> | null>
  }
  tasks: { events: Query<{ taskId: string }, AsyncIterable<TaskEvent>> }
}

type ErrorShape = TRPCDefaultErrorShape & {
  data: { errorCode: ErrorCode; details?: ErrorDetail[]; retryAfterSeconds?: number }
}

/**
 * The service's router at `/trpc`. Its transformer is superjson.
 *
 * @example
 * const link = httpBatchStreamLink({ url: 'https://errand.example.com/trpc', transformer: superjson, headers })
 * const errand = createTRPCClient<AppRouter>({ links: [link] })
 */
export type AppRouter = TRPCBuiltRouter<
  { ctx: object; meta: object; errorShape: ErrorShape; transformer: true },
  CallProcedures & StreamProcedures
>
