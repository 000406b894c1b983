import type { TaskRow } from './audit-rows.ts'
import { simEvents, simPrices, simTokenRates } from './sim-agents.ts'
import type { AskedTask } from './sim-state.ts'

// Task outcomes derived from requests, independently of the service's code.

export function isOpen(status: TaskRow['status']): boolean {
  return status === 'pending' || status === 'processing'
}

type TaskEnd = {
  cost: number
  usage?: Record<string, number>
  tokens?: { promptTokens: number; completionTokens: number; exactUsd: string; model: string }
}

/** Returns the cost of a completed task, and for a metered task the events that the charge covers, pages first. */
export function endOf({ endpointId, params }: AskedTask): TaskEnd {
  const most = simPrices[endpointId]
  if (endpointId === 'priced.write') {
    const [input, output] = [Number(params['input']), Number(params['output'])]
    // Computes in billionths of a USD; a unit is 100,000 of them.
    const model = params['isDown'] ? 'spare' : 'told'
    const rates = simTokenRates[model]
    const exact = Math.floor((input * rates.input + output * rates.output) / 10)
    const tokens = { promptTokens: input, completionTokens: output, exactUsd: (exact / 1e9).toFixed(9), model }
    return { cost: Math.min(most, Math.ceil(exact / 100_000)), tokens }
  }
  if (endpointId !== 'sim.metered') return { cost: most }
  const page = Math.min(Number(params['pages']), Math.floor(most / simEvents.page))
  const figure = Math.min(Number(params['figures']), Math.floor((most - page * simEvents.page) / simEvents.figure))
  const cost = page * simEvents.page + figure * simEvents.figure
  return { cost, usage: { ...(page > 0 && { page }), ...(figure > 0 && { figure }) } }
}

/** Picks the token fields that `endOf` predicts. */
export function pickTokens({ completionTokens, exactUsd, model, promptTokens }: Record<string, unknown>) {
  return { promptTokens, completionTokens, exactUsd, model }
}

export function responseOf({ endpointId, gate, params }: AskedTask): unknown {
  switch (endpointId) {
    case 'sim.echo':
      return params
    case 'sim.dear':
      return 'dear'
    case 'sim.size':
      return { text: String(params['lead']) + String(params['of']).repeat(Number(params['times'])) }
    case 'sim.held':
    case 'sim.retried':
    case 'sim.tools':
      return { passed: gate }
    case 'priced.write':
      return { text: 'ok' }
    default:
      return {}
  }
}
