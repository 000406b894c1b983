import type { BenchUser } from './bench-data.ts'
import type { BenchServer, ServerKind } from './bench-servers.ts'
import { drive, requestBytes } from './http-driver.ts'
import { connectStream, type StreamEnd } from './stream-driver.ts'

/** Maximum number of streams to open simultaneously. The service would reject more. */
export const openedAtOnce = 50

type ChatRequests = {
  kind: ServerKind
  users: readonly BenchUser[]
  count: number
  message: string
  more?: object
  headers?: string
}

/** Returns chat requests for new sessions, so that no session has a history. The users alternate. */
export async function chatRequests(
  server: BenchServer,
  { count, headers, kind, message, more = {}, users }: ChatRequests,
): Promise<Buffer[]> {
  const owners = Array.from({ length: count }, (_, index) => users[index % users.length]!)
  const sessionIds: string[] = []
  if (kind === 'errand') {
    const body = JSON.stringify({ agentId: 'benchchat' })
    const queue = owners.map(({ key }) => requestBytes('POST', '/api/sessions', { key, body }))
    const onBody = (answer: string) => {
      const { sessionId } = JSON.parse(answer) as { sessionId?: string }
      if (sessionId === undefined) throw new Error(`no session: ${answer}`)
      sessionIds.push(sessionId)
    }
    // Use a single connection, so that responses arrive in the order of the users.
    await drive({ url: server.url, connections: 1, next: () => queue.shift(), onBody })
  }
  return owners.map(({ key }, index) => {
    const sessionId = sessionIds[index] ?? 'session_of_the_floor'
    return requestBytes('POST', '/api/chat', { key, headers, body: JSON.stringify({ sessionId, message, ...more }) })
  })
}

/** Sends each request on its own connection and reads every stream to its end. */
export async function streamAll(server: BenchServer, requests: readonly Buffer[], expected: { events: number }) {
  const connections = await Promise.all(requests.map(async () => await connectStream(server.url)))
  const from = performance.now()
  const ended: Promise<StreamEnd>[] = []
  for (const [index, request] of requests.entries()) {
    const stream = connections[index]!.open(request)
    ended.push(stream.ended)
    if (index % openedAtOnce === openedAtOnce - 1) await stream.begun
  }
  const ends = await Promise.all(ended)
  const seconds = (performance.now() - from) / 1000
  for (const connection of connections) connection.close()
  const wrong = ends.find(({ events }) => events !== expected.events)
  if (wrong) throw new Error(`a stream had ${wrong.events} events instead of ${expected.events}`)
  return { seconds }
}
