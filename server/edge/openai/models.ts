import { isVisibleTo, type Agent, type Chat } from '../../agents/config/catalogue.ts'
import type { Caller } from '../../procedures/caller.ts'
import { writtenRates } from '../../billing/written-rates.ts'
import type { OpenaiParts } from './openai-parts.ts'
import { WireError } from './wire-error.ts'

type Models = { caller: Caller; catalogue: OpenaiParts['catalogue'] }
export type ModelAgent = Agent & { chat: Chat }

export function listModels({ caller, catalogue }: Models): object {
  return { object: 'list', data: catalogue.agents.filter((agent) => isModelFor(caller, agent)).map(toModel) }
}

export function getModel(of: Models, model: string): object {
  return toModel(modelOf(of, model))
}

export function modelOf({ caller, catalogue }: Models, model: string): ModelAgent {
  const agent = catalogue.agent(model)
  if (agent && isModelFor(caller, agent)) return agent
  const message = 'Model not found. GET /v1/models lists the available models.'
  throw new WireError('NOT_FOUND', message, { param: 'model', code: 'model_not_found' })
}

function isModelFor({ agents, email }: Caller, agent: Agent): agent is ModelAgent {
  return agent.chat !== null && isVisibleTo(agent, email) && (agents === null || agents.includes(agent.id))
}

function toModel({ chat, description, id, name }: Agent): object {
  const { accepts, contextTokens, maxOutputTokens, rates } = chat!
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: 'errand',
    name,
    description,
    context_window: contextTokens,
    max_output_tokens: maxOutputTokens,
    accepts,
    pricing: writtenRates(rates),
  }
}
