import { AsyncLocalStorage } from 'node:async_hooks'
import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { describeModelError, toModelFailure } from '../model/model-error.ts'
import { callNameCharsMax, CallIds, toArguments } from '../run/call-ids.ts'
import { PartQueue } from '../run/part-queue.ts'

/**
 * A value of any type from an agent framework. Adapters do not import the frameworks' types, so that no framework
 * becomes a dependency.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type Foreign = any

/**
 * The reply that is being generated in the current async context. One model object serves many replies, so metered
 * models look up the current reply here.
 */
export const currentRun = new AsyncLocalStorage<ChatRun>()

export type AdaptedRun = ChatRun & {
  /** Appends text to the reply. Accepts any value, because the service rejects deltas that are not strings. */
  text: (delta: unknown) => void
  reasoning: (delta: unknown) => void
  /** `input` is an object or its JSON string. */
  toolCall: (call: { id: unknown; name: unknown; input: unknown }) => void
  /** Ignores results without a matching call, and repeated results for the same call. */
  toolResult: (result: { id: unknown; output: unknown }) => void
  toolError: (result: { id: unknown; error: unknown }) => void
  /** Announces a model call that the framework has already started. */
  step: (step: Omit<Extract<ChatPart, { type: 'step' }>, 'type'>) => void
  usage: (usage: Omit<Extract<ChatPart, { type: 'usage' }>, 'type'>) => void
  /** Marks the reply as cut off by the framework's own step limit. It is charged like a finished reply. */
  cutOff: () => void
  /** Passes the framework's events to `take`. Stops on abort, even if the framework ignores the signal. */
  follow: (source: AsyncIterable<Foreign>, take: (event: Foreign) => void) => Promise<void>
}

/** Creates a chat's `reply` from a function that runs a framework's agent. */
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
    cutOff: () => parts.push({ type: 'usage', promptTokens: 0, completionTokens: 0, finishReason: 'length' }),
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
        // Do not await: the framework's cleanup may take arbitrarily long.
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
