import type { BenchUser } from './bench-data.ts'
import type { BenchServer } from './bench-servers.ts'
import { atMost, type Measure, type Row } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'
import { median, pairedRounds } from './paired-rates.ts'
import { connectStream, type StreamEnd } from './stream-driver.ts'

const env = { ERRAND_EXECUTIONS_PER_MINUTE: '0' }
/** Loads: deltas as fast as the client reads them, and deltas one by one, as most models send them. */
const loads = [
  { name: 'as fast as they are read', message: 'events 2000', streams: 50, deltas: 2000 },
  { name: 'one by one', message: 'paced 200', streams: 50, deltas: 200 },
]

type Form = 'ndjson' | 'openai'
type Streams = { message: string; streams: number; users: readonly BenchUser[] }

/** Compares POST /v1/chat/completions with POST /api/chat of the same server: time to the first text, and CPU time. */
export const measureOpenai: Measure = async ({ isQuick, template, users }) => {
  const rounds = isQuick ? 4 : 10
  const rows: Row[] = []
  for (const { deltas, message, name, streams } of loads) {
    const side = (form: Form) => ({
      kind: 'errand' as const,
      env,
      async round(server: BenchServer): Promise<number> {
        const requests = await requestsOf(server, { form, message, streams, users })
        const before = server.cpuSeconds()
        await readAll(server, { form, requests })
        return ((server.cpuSeconds() - before) * 1e6) / (streams * deltas)
      },
    })
    const { ndjson, openai } = await pairedRounds(
      { ndjson: side('ndjson'), openai: side('openai') },
      { rounds, template },
    )
    rows.push({ what: `NDJSON: CPU of a delta, ${name}`, value: median(ndjson), unit: 'µs' })
    const ratio = median(openai.map((micros, round) => micros / ndjson[round]!))
    const row = { what: `chat completions: CPU of a delta, ${name}`, value: median(openai), unit: 'µs' }
    rows.push({ ...row, against: 'NDJSON', ratio, bar: '≤ 1.25', isMet: ratio <= 1.25 })
  }
  const side = (form: Form) => ({
    kind: 'errand' as const,
    env,
    async round(server: BenchServer): Promise<number> {
      const streams = isQuick ? 50 : 200
      const requests = await requestsOf(server, { form, message: 'first', streams, users })
      const waits: number[] = []
      for (const request of requests) {
        const [end] = await readAll(server, { form, requests: [request] })
        waits.push(end!.firstEventMs)
      }
      return median(waits)
    },
  })
  const { ndjson, openai } = await pairedRounds(
    { ndjson: side('ndjson'), openai: side('openai') },
    { rounds, template },
  )
  rows.push({ what: 'NDJSON: first text, idle', value: median(ndjson), unit: 'ms' })
  const added = median(openai.map((ms, round) => ms - ndjson[round]!))
  rows.push(atMost({ what: 'chat completions: first text, idle, beyond NDJSON', value: added, unit: 'ms' }, 2))
  return rows
}

/** Returns the requests. Those for /api/chat have a session each, while chat completions need no session. */
async function requestsOf(server: BenchServer, { form, message, streams, users }: Streams & { form: Form }) {
  const owners = Array.from({ length: streams }, (_, index) => users[index % users.length]!)
  if (form === 'openai') {
    const body = JSON.stringify({ model: 'benchchat', messages: [{ role: 'user', content: message }], stream: true })
    return owners.map(({ key }) => requestBytes('POST', '/v1/chat/completions', { key, body }))
  }
  const sessionIds: string[] = []
  const queue = owners.map(({ key }) => requestBytes('POST', '/api/sessions', { key, body: '{"agentId":"benchchat"}' }))
  const onBody = (answer: string) => void sessionIds.push((JSON.parse(answer) as { sessionId: string }).sessionId)
  await drive({ url: server.url, connections: 1, next: () => queue.shift(), onBody })
  return owners.map(({ key }, index) => {
    const body = JSON.stringify({ sessionId: sessionIds[index], message })
    return requestBytes('POST', '/api/chat', { key, body })
  })
}

async function readAll(server: BenchServer, { form, requests }: { form: Form; requests: readonly Buffer[] }) {
  const lastEvent = form === 'openai' ? 'data: [DONE]' : undefined
  const connections = await Promise.all(requests.map(() => connectStream(server.url, lastEvent)))
  const ends: StreamEnd[] = await Promise.all(requests.map((request, index) => connections[index]!.open(request).ended))
  for (const connection of connections) connection.close()
  return ends
}
