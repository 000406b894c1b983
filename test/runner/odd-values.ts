// Values that an agent may throw or return, by name. The service receives each as it leaves the agent's thread.

export function throwValue(what: string): never {
  throw thrown[what]!()
}

export function returnValue(what: string): unknown {
  return returned[what]!()
}

function circular(): object {
  const value: Record<string, unknown> = { name: 'circular' }
  value['self'] = value
  return value
}

function circularCause(): Error {
  const error = new Error('caused by itself')
  error.cause = error
  return error
}

class HostileError extends Error {
  override get message(): string {
    throw new Error('thrown by the getter of a message')
  }
}

const hostileHandler: ProxyHandler<object> = {
  get: () => throwNow(),
  getPrototypeOf: () => throwNow(),
  has: () => throwNow(),
  ownKeys: () => throwNow(),
}

function throwNow(): never {
  throw new Error('thrown by a trap')
}

const thrown: Record<string, () => unknown> = {
  error: () => new TypeError('an ordinary error'),
  null: () => null,
  undefined: () => undefined,
  string: () => 'a string',
  emptyString: () => '',
  number: () => 42,
  bigint: () => 10n,
  symbol: () => Symbol('a symbol'),
  function: () => () => 'never called',
  plainObject: () => ({ reason: 'an object' }),
  circularObject: () => circular(),
  circularCause: () => circularCause(),
  throwingMessage: () => new HostileError(),
  messageOfNoString: () => Object.assign(new Error(), { message: { toString: () => throwNow() } }),
  nulAndHalfCharacter: () => new Error('a\u0000b\ud800'),
  longMessage: () => new Error('long '.repeat(100_000)),
  proxy: () => new Proxy({}, hostileHandler),
  proxyOfError: () => new Proxy(new Error('inside'), hostileHandler),
}

export const thrownNames = Object.keys(thrown)

const returned: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  number: () => 7,
  notANumber: () => Number.NaN,
  boolean: () => false,
  bigint: () => 10n,
  array: () => [1, 'two'],
  string: () => 'a text',
  emptyString: () => '',
  date: () => new Date(Date.UTC(2026, 0, 15)),
  map: () => new Map([['key', 'value']]),
  nested: () => ({ inner: { list: [1, null] } }),
  halfCharacter: () => ({ text: 'a\ud800b' }),
  promise: () => Promise.resolve({ settled: true }),
  function: () => () => 'never called',
  symbol: () => Symbol('a symbol'),
  circular: () => circular(),
  deep: () => deep(100_000),
  // An agent thread can still serialize this value; the main thread has a smaller stack.
  fairlyDeep: () => deep(6000),
  throwingToJson: () => ({ toJSON: () => throwNow() }),
  toJsonOfNothing: () => ({ toJSON: () => undefined }),
  toJsonOfNumber: () => ({ toJSON: () => 5 }),
  proxy: () => new Proxy({}, { ...hostileHandler, get: (_, name) => (name === 'then' ? undefined : throwNow()) }),
  throwingThen: () => Object.defineProperty({}, 'then', { get: () => throwNow() }),
  large: () => 'x'.repeat(60_000_000),
}

export const returnedNames = Object.keys(returned)

function deep(levels: number): object {
  let value: object = []
  for (let level = 0; level < levels; level++) value = [value]
  return value
}
