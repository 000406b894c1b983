import { blockThread } from './block-thread.ts'
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import {
  defineConfig,
  type ChatPart,
  type ChatRun,
  type CodeAgentConfig,
} from '../../server/agents/config/define-config.ts'

/** One step of a reply of the agent `talk`. Steps use files to communicate between tests and agents in threads. */
export type Step =
  | { do: 'text' | 'reasoning'; delta: string; times?: number }
  | { do: 'call'; id: string; name?: string; arguments?: unknown }
  | { do: 'result'; id: string; output?: unknown }
  | {
      do: 'usage'
      promptTokens: number
      completionTokens: number
      reasoningTokens?: number
      cachedPromptTokens?: number
    }
  /** Yields this value unchanged. */
  | { do: 'raw'; part: unknown }
  /** Sends the history, params or message of the run as JSON, in one delta. */
  | { do: 'tell'; what: 'history' | 'params' | 'message' }
  /** Waits for this time. Throws if the signal aborts. */
  | { do: 'wait'; ms: number }
  /** Waits for this time. Ignores the signal. */
  | { do: 'sleep'; ms: number }
  /** Waits until the file exists. Ignores the signal. */
  | { do: 'await-file'; file: string }
  | { do: 'touch'; file: string }
  /** Appends a line to the file when the signal aborts. */
  | { do: 'note-abort'; file: string }
  | { do: 'await-abort' }
  | { do: 'throw'; message: string }
  | { do: 'throw-value'; value: unknown }
  | { do: 'block'; ms: number }
  | { do: 'exit' }
  /** Sends this many deltas at full speed, or with a pause of `everyMs` after each. Writes its progress to the file. */
  | { do: 'flood'; times: number; delta: string; everyMs?: number; file?: string }
  /** Sends an output with this many levels of nesting. */
  | { do: 'nested'; id: string; levels: number }
  | { do: 'late-throw'; ms: number }

export const say = (...steps: Step[]): string => JSON.stringify(steps)

/** Runs the steps of a JSON message; echoes any other message. */
async function* reply(run: ChatRun): AsyncGenerator<ChatPart> {
  if (!run.message.startsWith('[{')) {
    yield { type: 'text', delta: `You said: ${run.message}` }
    return
  }
  for (const step of JSON.parse(run.message) as Step[]) yield* carryOut(step, run)
}

async function* carryOut(step: Step, run: ChatRun): AsyncGenerator<ChatPart> {
  const { signal } = run
  switch (step.do) {
    case 'text':
    case 'reasoning':
      for (let n = 0; n < (step.times ?? 1); n++) yield { type: step.do, delta: step.delta }
      return
    case 'call': {
      const args = 'arguments' in step ? step.arguments : {}
      yield { type: 'tool-call', id: step.id, name: step.name ?? 'look', arguments: args as Record<string, unknown> }
      return
    }
    case 'result':
      yield { type: 'tool-result', id: step.id, output: step.output }
      return
    case 'usage': {
      const { do: _, ...usage } = step
      yield { type: 'usage', ...usage }
      return
    }
    case 'raw':
      yield step.part as ChatPart
      return
    case 'tell':
      yield { type: 'text', delta: JSON.stringify(run[step.what]) }
      return
    case 'flood':
      yield* flood(step)
      return
    case 'nested': {
      let output: object = {}
      for (let level = 1; level < step.levels; level++) output = { in: output }
      yield { type: 'tool-result', id: step.id, output }
      return
    }
    default:
      return await act(step, signal)
  }
}

/** Runs a step that produces no output. */
async function act(step: Step, signal: AbortSignal): Promise<void> {
  switch (step.do) {
    case 'wait':
      await delay(step.ms, undefined, { signal })
      return
    case 'sleep':
      await delay(step.ms)
      return
    case 'await-file':
      while (!existsSync(step.file)) await delay(5)
      return
    case 'touch':
      return writeFileSync(step.file, '')
    case 'note-abort':
      return signal.addEventListener('abort', () => appendFileSync(step.file, `${Date.now()}\n`))
    case 'await-abort':
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return
    case 'throw':
      throw new Error(step.message)
    case 'throw-value':
      throw step.value
    case 'block':
      return blockThread(step.ms)
    case 'exit':
      return process.exit(3)
    case 'late-throw':
      setTimeout(() => {
        throw new Error('Thrown by a timer')
      }, step.ms)
      return
    default:
      throw new Error(`There is no step ${JSON.stringify(step)}`)
  }
}

const notedEvery = 100

async function* flood({ delta, everyMs, file, times }: Step & { do: 'flood' }): AsyncGenerator<ChatPart> {
  for (let n = 1; n <= times; n++) {
    yield { type: 'text', delta }
    if (file !== undefined && (n % notedEvery === 0 || n === times)) writeFileSync(file, String(n))
    if (everyMs !== undefined) await delay(everyMs)
  }
}

/** Rates with enough digits to require rounding. */
export const talkPricing = {
  inputPer1kUsd: '0.150005',
  cachedInputPer1kUsd: '0.05',
  outputPer1kUsd: '0.6',
  reasoningPer1kUsd: '0.900001',
  toolCallUsd: '0.001255',
} as const

export const talk: CodeAgentConfig = {
  kind: 'code',
  id: 'talk',
  name: 'Talker',
  chat: { pricing: talkPricing, reasoning: true, maxOutputTokens: 1000, reply },
}

function variant(id: string, chat: Partial<NonNullable<CodeAgentConfig['chat']>>): CodeAgentConfig {
  return { kind: 'code', id, name: id, chat: { ...talk.chat!, ...chat } }
}

/** Chat-only agents, for threads and inline runs. Each runs the steps in its message. */
export default defineConfig({
  agents: [
    talk,
    variant('quiet', { reasoning: false }),
    variant('forgetful', { contextTokens: 100 }),
    variant('free', { pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0' } }),
    variant('tools', { pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0', toolCallUsd: '0.1' } }),
    variant('nothing', { reply: () => 'no iterable' as never }),
    { ...variant('secret', {}), visibility: ['friend@example.com'] },
    {
      kind: 'code',
      id: 'work',
      name: 'Worker',
      endpoints: {
        echo: { description: 'Returns its params.', priceUsd: '0.0100', params: {}, run: ({ params }) => params },
        fail: {
          description: 'Throws.',
          priceUsd: '0.0100',
          params: {},
          run: () => {
            throw new Error('It failed.')
          },
        },
      },
    },
  ],
})
