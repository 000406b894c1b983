import type { ChatMessage, ChatPart, ChatRun } from '../config/define-config.ts'
import { adaptedReply, currentRun, type AdaptedRun, type Foreign } from './adapted-reply.ts'
import { meteredAgentsModel, type AgentsModel } from './openai-agents-model.ts'

export type OpenAIAgent = { name: string; model: unknown; handoffs: readonly unknown[] }

export type OpenAIRunner = {
  readonly config: { readonly model?: unknown; readonly modelProvider: unknown }
  run(agent: Foreign, input: Foreign, options: Foreign): Promise<Foreign>
}

/**
 * Creates the `reply` of a chat from an OpenAI Agents SDK agent, which runs with the runner's configuration. `options`
 * are passed to the runner's `run`, for example `{ maxTurns: 20 }`.
 */
export function openaiAgentsReply(
  agent: OpenAIAgent,
  runner: OpenAIRunner,
  options: { readonly [option: string]: unknown } = {},
): (run: ChatRun) => AsyncIterable<ChatPart> {
  const metering = meteredRunner(runner)
  return adaptedReply(async (run) => {
    const { history, message, signal } = run
    meterAgents(agent)
    const input = [...history, { role: 'user' as const, content: message }].map(toItem)
    try {
      const result = await currentRun.run(run, () => metering.run(agent, input, { ...options, stream: true, signal }))
      await run.follow(result, (event) => {
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
          run.text(event.data.delta)
        else if (event.type === 'run_item_stream_event') show(event, run)
      })
      if (!signal.aborted) await result.completed
    } catch (error) {
      if ((error as Foreign)?.name !== 'MaxTurnsExceededError') throw error
      run.cutOff()
    }
  })
}

function meteredRunner(runner: OpenAIRunner): OpenAIRunner {
  const { config } = runner
  const provider = config.modelProvider as { getModel(name?: string): AgentsModel | Promise<AgentsModel> }
  const Runner = runner.constructor as new (config: object) => OpenAIRunner
  return new Runner({
    ...config,
    model: meteredIfObject(config.model),
    modelProvider: { getModel: async (name?: string) => meteredAgentsModel(await provider.getModel(name)) },
  })
}

function meterAgents(agent: OpenAIAgent, seen = new Set<OpenAIAgent>()): void {
  if (seen.has(agent)) return
  seen.add(agent)
  agent.model = meteredIfObject(agent.model)
  // A handoff is either an agent or an object with an `agent` field.
  for (const handoff of agent.handoffs as Foreign[]) meterAgents(handoff.agent ?? handoff, seen)
}

function meteredIfObject(model: unknown): unknown {
  return typeof model === 'object' && model !== null ? meteredAgentsModel(model as AgentsModel) : model
}

function toItem({ content, role }: ChatMessage): object {
  if (role !== 'assistant') return { role, content }
  return { role, status: 'completed', content: [{ type: 'output_text', text: content }] }
}

function show({ item, name }: Foreign, run: AdaptedRun): void {
  const { rawItem } = item
  switch (name) {
    case 'tool_called':
    case 'handoff_requested':
      return run.toolCall({ id: rawItem.callId ?? rawItem.id, name: rawItem.name, input: rawItem.arguments })
    case 'tool_output':
    case 'handoff_occurred':
      return run.toolResult({ id: rawItem.callId, output: item.output ?? rawItem.output })
    case 'reasoning_item_created':
      for (const { text } of rawItem.rawContent ?? rawItem.content) run.reasoning(text)
  }
}
