import { checkIdempotencyKey, newIdempotencyKey } from '../idempotency-key.ts'
import type { Mutations, Queries } from '../types/api-types.ts'
import type { Input, Operation, Output } from '../types/client-types.ts'
import type { CallPromise } from './call-promise.ts'
import { toListPromise, type ItemOf, type ListPromise, type PageHead } from './list-pages.ts'
import type { Call, CallOptions } from './rpc-call.ts'

export type KeyedOptions = CallOptions & {
  /**
   * Repeating the call with the same key and input within 24 hours returns the same result and charges once. By
   * default, each call gets a new key, which its automatic retries reuse.
   */
  idempotencyKey?: string | undefined
}

export type Method<Name extends Operation> = (input: Input<Name>, options?: CallOptions) => CallPromise<Output<Name>>
export type EasyMethod<Name extends Operation> = (
  input?: Input<Name>,
  options?: CallOptions,
) => CallPromise<Output<Name>>
export type PlainMethod<Name extends Operation> = (options?: CallOptions) => CallPromise<Output<Name>>
export type KeyedMethod<Name extends Operation> = (
  input: Input<Name>,
  options?: KeyedOptions,
) => CallPromise<Output<Name>>
/** Returns one page of a list, or the complete list with `for await`. */
export type ListMethod<Name extends Lists> = (
  input?: Input<Name>,
  options?: CallOptions,
) => ListPromise<Output<Name>, ItemOf<Output<Name>>>
/**
 * Like `ListMethod`, for lists that belong to one object, such as a session's messages. The input names that object.
 */
export type InnerListMethod<Name extends Lists> = (
  input: Input<Name>,
  options?: CallOptions,
) => ListPromise<Output<Name>, ItemOf<Output<Name>>>

export type Lists = {
  [Name in keyof Queries]: Queries[Name]['output'] extends PageHead ? Name : never
}[keyof Queries]

type Kind = keyof ReturnType<typeof createMethods>
type MethodOf<Of extends Kind, Name> = Of extends 'list'
  ? Name extends Lists
    ? ListMethod<Name>
    : never
  : Of extends 'keyedChange'
    ? Name extends Keyed
      ? KeyedMethod<Name>
      : never
    : Name extends (Of extends 'read' | 'plainRead' | 'separateRead' ? keyof Queries : keyof Mutations)
      ? Of extends 'plainRead' | 'separateRead' | 'plainChange'
        ? PlainMethod<Name>
        : Of extends 'read' | 'easyChange'
          ? EasyMethod<Name>
          : Method<Name>
      : never

type Keyed = 'tasks.create' | 'sessions.create' | 'topups.create' | 'users.credit'

function createMethods(call: Call) {
  return {
    read:
      <Name extends keyof Queries>(operation: Name): EasyMethod<Name> =>
      (input = {}, options) =>
        call(operation, { isQuery: true, input }, options),

    plainRead:
      <Name extends keyof Queries>(operation: Name): PlainMethod<Name> =>
      (options) =>
        call(operation, { isQuery: true, input: {} as Input<Name> }, options),

    /** Like `plainRead`, but never shares a request with other reads. */
    separateRead:
      <Name extends keyof Queries>(operation: Name): PlainMethod<Name> =>
      (options) =>
        call(operation, { isQuery: true, input: {} as Input<Name>, isAlone: true }, options),

    list:
      <Name extends Lists>(operation: Name): ListMethod<Name> =>
      (input = {}, options) =>
        toListPromise(input, (page) => call(operation, { isQuery: true, input: page }, options)),

    change:
      <Name extends keyof Mutations>(operation: Name): Method<Name> =>
      (input, options) =>
        call(operation, { isQuery: false, input }, options),

    easyChange:
      <Name extends keyof Mutations>(operation: Name): EasyMethod<Name> =>
      (input = {}, options) =>
        call(operation, { isQuery: false, input }, options),

    /** Creates a method for an idempotent change, which the client may retry. */
    repeatableChange:
      <Name extends keyof Mutations>(operation: Name): Method<Name> =>
      (input, options) =>
        call(operation, { isQuery: false, isRepeatable: true, input }, options),

    plainChange:
      <Name extends keyof Mutations>(operation: Name): PlainMethod<Name> =>
      (options) =>
        call(operation, { isQuery: false, input: {} as Input<Name> }, options),

    keyedChange:
      <Name extends Keyed>(operation: Name): KeyedMethod<Name> =>
      (input, { idempotencyKey = newIdempotencyKey(), ...options } = {}) => {
        const check = () => checkIdempotencyKey(idempotencyKey)
        return call(operation, { isQuery: false, input, idempotencyKey, check }, options)
      },
  }
}

/**
 * Returns the methods of a namespace, each of the given kind.
 *
 * @example
 * methodsOf(call, 'agents', { list: 'list', get: 'read' })
 */
export function methodsOf<Namespace extends string, const Kinds extends Record<string, Kind>>(
  call: Call,
  namespace: Namespace,
  kinds: Kinds,
): { [Name in keyof Kinds & string]: MethodOf<Kinds[Name], `${Namespace}.${Name}`> } {
  const methods: Record<Kind, (operation: never) => unknown> = createMethods(call)
  const method = ([name, kind]: [string, Kind]) => [name, methods[kind](`${namespace}.${name}` as never)]
  return Object.fromEntries(Object.entries(kinds).map(method)) as never
}
