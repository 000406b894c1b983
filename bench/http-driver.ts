import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

// Sends requests over keep-alive connections, with one request in flight on each. Uses plain sockets, because a client
// library takes more CPU than the servers under test and would pull every ratio toward one.

export type DriveResult = {
  requests: number
  seconds: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  statuses: Record<number, number>
}

type Drive = {
  url: string
  connections: number
  next: () => Buffer | undefined
  onBody?: (body: string) => void
  /**
   * Busy-waits instead of sleeping. The kernel would wake a sleeping driver for each response of a slow server, but a
   * fast server never lets it sleep, so the cost of waking it would distort the comparison. Busy-waiting takes a whole
   * core, so use it only for single-threaded servers.
   */
  staysAwake?: boolean
  /** How long each connection waits after a response, for a load below the server's capacity. */
  pauseMs?: number
}

export async function drive({
  url,
  connections,
  next,
  onBody,
  pauseMs,
  staysAwake = false,
}: Drive): Promise<DriveResult> {
  const { hostname, port } = new URL(url)
  const latencies: number[] = []
  const statuses: Record<number, number> = {}
  let isSpinning = staysAwake
  const spin = () => isSpinning && setImmediate(spin)
  spin()
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      const read = responseReader(socket)
      for (let request = next(); request; request = next()) {
        const sentAt = performance.now()
        socket.write(request)
        const { body, status } = await read()
        latencies.push(performance.now() - sentAt)
        statuses[status] = (statuses[status] ?? 0) + 1
        onBody?.(body)
        if (pauseMs !== undefined) await sleep(pauseMs)
      }
      socket.destroy()
    }),
  )
  isSpinning = false
  const seconds = (performance.now() - startedAt) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  const requests = latencies.length
  return { requests, seconds, perSecond: requests / seconds, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), statuses }
}

export function requestBytes(
  method: string,
  path: string,
  { body, headers = '', key }: { key: string; body?: string; headers?: string | undefined },
): Buffer {
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n${headers}`
  if (body === undefined) return Buffer.from(`${head}\r\n`)
  return Buffer.from(
    `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

type Response = { status: number; body: string }

function responseReader(socket: Socket): () => Promise<Response> {
  let buffered = ''
  let waiting: { resolve: (response: Response) => void; reject: (error: Error) => void } | undefined
  const fail = (error: Error) => waiting?.reject(error)
  socket.setEncoding('latin1')
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed the connection')))
  socket.on('data', (text: string) => {
    buffered += text
    const headEnd = buffered.indexOf('\r\n\r\n')
    if (headEnd === -1) return
    const head = buffered.slice(0, headEnd)
    const bodyStart = headEnd + 4
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    let end: number
    if (length === undefined) {
      const last = buffered.indexOf('0\r\n\r\n', bodyStart)
      if (last === -1) return
      end = last + 5
    } else {
      end = bodyStart + Number(length)
      if (buffered.length < end) return
    }
    const response = { status: Number(head.slice(9, 12)), body: buffered.slice(bodyStart, end) }
    buffered = buffered.slice(end)
    const { resolve } = waiting!
    waiting = undefined
    resolve(response)
  })
  return () => new Promise((resolve, reject) => (waiting = { resolve, reject }))
}
