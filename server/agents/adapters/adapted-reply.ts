import { AsyncLocalStorage } from 'node:async_hooks'
import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { describeModelError, toModelFailure } from '../model/model-error.ts'
import { callNameCharsMax, CallIds, toArguments } from '../run/call-ids.ts'
import { PartQueue } from '../run/part-queue.ts'

/** A value of a framework. Adapters do not import the frameworks' types. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Foreign = any

/** The reply whose agent is running, for models that serve the agents of all replies. */
export const currentRun = new AsyncLocalStorage<ChatRun>()

/** A framework's agent while it answers one message. */
export type AdaptedRun = ChatRun & {
  /** Pushes text. Not checked to be a string: the service rejects any other value. */
  text: (delta: unknown) => void
  reasoning: (delta: unknown) => void
  /** `input` is an object, or its JSON. */
  toolCall: (call: { id: unknown; name: unknown; input: unknown }) => void
  /** A result without a call, or a second result, is ignored. */
  toolResult: (result: { id: unknown; output: unknown }) => void
  toolError: (result: { id: unknown; error: unknown }) => void
  /** Announces a model call that the framework itself has started. */
  step: (step: Omit<Extract<ChatPart, { type: 'step' }>, 'type'>) => void
  usage: (usage: Omit<Extract<ChatPart, { type: 'usage' }>, 'type'>) => void
  /** Takes the framework's events until the reply is stopped, even if the framework ignores its signal. */
  follow: (source: AsyncIterable<Foreign>, take: (event: Foreign) => void) => Promise<void>
}

/** Turns a function that runs a framework's agent into the chat's `reply`. */
export function adaptedReply(drive: (run: AdaptedRun) => Promise<void>): (run: ChatRun) => AsyncIterable<ChatPart> {
  return (run) => {
    const left = new AbortController()
    const parts = new PartQueue<ChatPart>(() => left.abort())
    const signal = AbortSignal.any([run.signal, left.signal])
    drive(adapt({ ...run, signal }, parts)).then(
      () => parts.end(),
      (thrown: unknown) => parts.end({ thrown: toModelFailure(thrown) }),
    )
    return parts
  }
}

function adapt(run: ChatRun, parts: PartQueue<ChatPart>): AdaptedRun {
  const { signal } = run
  const ids = new CallIds()
  const open = new Set<string>()
  const toolResult = ({ id, output }: { id: unknown; output: unknown }) => {
    const known = ids.of(String(id))
    if (open.delete(known)) parts.push({ type: 'tool-result', id: known, output })
  }
  return {
    ...run,
    text: (delta) => parts.push({ type: 'text', delta: delta as string }),
    reasoning: (delta) => parts.push({ type: 'reasoning', delta: delta as string }),
    toolCall: ({ id: given, input, name }) => {
      const id = ids.open(String(given))
      open.add(id)
      const args = toArguments(typeof input === 'string' ? parseInput(input) : input)
      parts.push({ type: 'tool-call', id, name: String(name).slice(0, callNameCharsMax), arguments: args })
    },
    toolResult,
    step: (step) => parts.push({ type: 'step', ...step }),
    usage: (usage) => parts.push({ type: 'usage', ...usage }),
    toolError: ({ error, id }) => toolResult({ id, output: { error: describeModelError(error) } }),
    async follow(source, take) {
      const iterator = source[Symbol.asyncIterator]()
      let stop: (next: undefined) => void = () => {}
      const onAbort = () => stop(undefined)
      signal.addEventListener('abort', onAbort, { once: true })
      try {
        while (!signal.aborted) {
          if (parts.isFull) await parts.room()
          const next = await new Promise<IteratorResult<Foreign> | undefined>((resolve, reject) => {
            stop = resolve
            iterator.next().then(resolve, reject)
          })
          if (!next || next.done) return
          take(next.value)
        }
      } finally {
        signal.removeEventListener('abort', onAbort)
        // The framework's cleanup may take arbitrarily long.
        void Promise.resolve(iterator.return?.()).catch(() => {})
      }
    },
  }
}

function parseInput(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
