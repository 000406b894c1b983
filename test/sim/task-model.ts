import type { TaskRow } from './audit-rows.ts'
import { simEvents, simPrices } from './sim-agents.ts'
import type { AskedTask } from './sim-state.ts'

// The outcome of tasks by what was asked for, apart from the service's own code.

export function isOpen(status: TaskRow['status']): boolean {
  return status === 'pending' || status === 'processing'
}

/** What a completed task costs, and of a metered one how many of each event: as many as fit, pages first. */
export function endOf({ endpointId, params }: AskedTask): { cost: number; usage?: Record<string, number> } {
  const most = simPrices[endpointId]
  if (endpointId !== 'sim.metered') return { cost: most }
  const page = Math.min(Number(params['pages']), Math.floor(most / simEvents.page))
  const figure = Math.min(Number(params['figures']), Math.floor((most - page * simEvents.page) / simEvents.figure))
  const cost = page * simEvents.page + figure * simEvents.figure
  return { cost, usage: { ...(page > 0 && { page }), ...(figure > 0 && { figure }) } }
}

/** What the agent returns. */
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
