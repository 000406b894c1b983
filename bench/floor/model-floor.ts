import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { streamText } from 'ai'
import { benchModel, outputTokensMax } from '../bench-model.ts'

// Baseline for model agents: the AI SDK without a service. It streams replies of the same model and counts the deltas
// in its only thread. It stores nothing.

export type FloorRequest = {
  streams: number
  prompt: string
  staggerMs?: number
}
export type FloorResult = {
  deltas: number
  seconds: number
  firstDeltaMs: number
}

const model = benchModel()

let deltasSoFar = 0

async function streamOne(prompt: string, abortSignal: AbortSignal): Promise<{ deltas: number; firstDeltaMs: number }> {
  const from = performance.now()
  let deltas = 0
  let firstDeltaMs = 0
  const { fullStream } = streamText({ model, prompt, maxOutputTokens: outputTokensMax, abortSignal })
  for await (const part of fullStream) {
    if (part.type === 'error') throw part.error
    if (part.type !== 'text-delta') continue
    deltasSoFar++
    if (++deltas === 1) firstDeltaMs = performance.now() - from
  }
  return { deltas, firstDeltaMs }
}

async function run({ prompt, staggerMs = 0, streams }: FloorRequest, signal: AbortSignal): Promise<FloorResult> {
  const from = performance.now()
  const ends = await Promise.all(
    Array.from({ length: streams }, async (_, index) => {
      if (staggerMs > 0) await new Promise((resolve) => setTimeout(resolve, index * staggerMs))
      return await streamOne(prompt, signal)
    }),
  )
  return {
    deltas: ends.reduce((sum, end) => sum + end.deltas, 0),
    seconds: (performance.now() - from) / 1000,
    firstDeltaMs: Math.max(...ends.map((end) => end.firstDeltaMs)),
  }
}

/** POST streams replies until they end or the client disconnects. GET returns the number of deltas so far. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<string> {
  if (request.method === 'GET') return JSON.stringify({ deltas: deltasSoFar })
  const controller = new AbortController()
  response.on('close', () => controller.abort())
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.stringify(await run(JSON.parse(Buffer.concat(chunks).toString()) as FloorRequest, controller.signal))
}

const server = createServer((request, response) => {
  answer(request, response).then(
    (json) => response.end(json),
    (error: unknown) => response.writeHead(500).end(String(error)),
  )
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`)
})
