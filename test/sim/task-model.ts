import type { TaskRow } from './audit-rows.ts'
import { simEvents, simPrices } from './sim-agents.ts'
import type { AskedTask } from './sim-state.ts'

// Task outcomes derived from requests, independently of the service's code.

export function isOpen(status: TaskRow['status']): boolean {
  return status === 'pending' || status === 'processing'
}

/** Returns the cost of a completed task. For a metered task also the events that the price covers, pages first. */
export function endOf({ endpointId, params }: AskedTask): { cost: number; usage?: Record<string, number> } {
  const most = simPrices[endpointId]
  if (endpointId !== 'sim.metered') return { cost: most }
  const page = Math.min(Number(params['pages']), Math.floor(most / simEvents.page))
  const figure = Math.min(Number(params['figures']), Math.floor((most - page * simEvents.page) / simEvents.figure))
  const cost = page * simEvents.page + figure * simEvents.figure
  return { cost, usage: { ...(page > 0 && { page }), ...(figure > 0 && { figure }) } }
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
    default:
      return {}
  }
}
