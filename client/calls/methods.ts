import { checkIdempotencyKey, newIdempotencyKey } from '../idempotency-key.ts'
import type { Mutations, Queries } from '../types/api-types.ts'
import type { Input, Operation, Output } from '../types/client-types.ts'
import type { CallPromise } from './call-promise.ts'
import { toListPromise, type ItemOf, type ListPromise, type PageHead } from './list-pages.ts'
import type { Call, CallOptions } from './rpc-call.ts'

/** Of the operations that take an Idempotency-Key. */
export type KeyedOptions = CallOptions & {
  /**
   * Repeating the call with the same key and the same input within 24 hours answers the same, made and charged once. A
   * new key when left out, with which the client's own repetitions are.
   */
  idempotencyKey?: string | undefined
}

export type Method<Name extends Operation> = (input: Input<Name>, options?: CallOptions) => CallPromise<Output<Name>>
/** Of an operation whose input has a default in all of its fields. */
export type EasyMethod<Name extends Operation> = (
  input?: Input<Name>,
  options?: CallOptions,
) => CallPromise<Output<Name>>
/** Of an operation without input. */
export type PlainMethod<Name extends Operation> = (options?: CallOptions) => CallPromise<Output<Name>>
export type KeyedMethod<Name extends Operation> = (
  input: Input<Name>,
  options?: KeyedOptions,
) => CallPromise<Output<Name>>
/** One page of a list, or with `for await` all of it. */
export type ListMethod<Name extends Lists> = (
  input?: Input<Name>,
  options?: CallOptions,
) => ListPromise<Output<Name>, ItemOf<Output<Name>>>
/** The same of a list within something, which the input names. */
export type InnerListMethod<Name extends Lists> = (
  input: Input<Name>,
  options?: CallOptions,
) => ListPromise<Output<Name>, ItemOf<Output<Name>>>

/** Operations that answer a page. */
export type Lists = {
  [Name in keyof Queries]: Queries[Name]['output'] extends PageHead ? Name : never
}[keyof Queries]

type Keyed = 'tasks.create' | 'sessions.create' | 'topups.create' | 'users.credit'

/** How the methods of the client are made of the names of operations. */
export function createMethods(call: Call) {
  return {
    read:
      <Name extends keyof Queries>(operation: Name): EasyMethod<Name> =>
      (input = {}, options) =>
        call(operation, { isQuery: true, input }, options),

    plainRead:
      <Name extends keyof Queries>(operation: Name, isAlone = false): PlainMethod<Name> =>
      (options) =>
        call(operation, { isQuery: true, input: {} as Input<Name>, isAlone }, options),

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

    /** Done again it changes nothing more. */
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
