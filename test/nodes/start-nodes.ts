import { randomUUID } from 'node:crypto'
import { engine } from '../support/test-engine.ts'
import { startService, type TestService } from '../support/test-service.ts'

type NodeOptions = Parameters<typeof startService>[0]

export type Nodes = {
  nodes: TestService[]
  databaseUrl: string
  /** The engine's name for the database. */
  databaseOf: string
  start(options?: NodeOptions): Promise<TestService>
  stop(): Promise<void>
}

/** Leases long enough for a busy machine. */
const limits = { leaseSeconds: 20 }

/** Starts nodes of one database in this process, each with its own data directory and `options`. */
export async function startNodes(...options: [NodeOptions, ...NodeOptions[]]): Promise<Nodes> {
  const databaseOf = `nodes-${randomUUID()}`
  const databaseUrl = await engine().databaseUrl(databaseOf)
  if (databaseUrl === undefined) throw new Error('nodes share a database on a server')
  const nodes: TestService[] = []
  const start = async (own: NodeOptions = {}) => {
    const node = await startService({ databaseUrl, ...own, limits: { ...limits, ...own.limits } })
    nodes.push(node)
    return node
  }
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    await engine().remove(databaseOf)
  }
  // Sequential starts would take as long as their sum.
  const inOrder = await Promise.all(options.map((own) => start(own)))
  nodes.splice(0, nodes.length, ...inOrder)
  return { nodes, databaseUrl, databaseOf, start, stop }
}

/** Returns a copy of the object that sends its requests to another node. */
export function at<Of extends { service: TestService }>(service: TestService, of: Of): Of {
  return Object.assign(Object.create(Object.getPrototypeOf(of) as object) as Of, of, { service })
}
