import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deltaAt, parseScript, usageOf } from '../chat-script.ts'

// Baseline for streams: a bare node:http server that writes a chat's events from its only thread, one write per event.
// It has no users, sessions, charges or storage.

type Usage = ReturnType<typeof usageOf>

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { message } = JSON.parse(Buffer.concat(chunks).toString()) as { message: string }
  const script = parseScript(message)
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' })
  for (let index = 0; index < script.deltas; index++) {
    const event = { type: 'assistant_delta', timestamp: new Date().toISOString(), delta: deltaAt(index) }
    if (!response.write(`${JSON.stringify(event)}\n`)) await once(response, 'drain')
  }
  if (script.isHeld) await once(response, 'close')
  else response.end(`${JSON.stringify(doneEvent(usageOf(script)))}\n`)
}

function doneEvent({ completionTokens, promptTokens }: Usage): object {
  const totalTokens = promptTokens + completionTokens
  const usage = { promptTokens, completionTokens, totalTokens, reasoningTokens: 0, toolCalls: 0 }
  return { type: 'done', timestamp: new Date().toISOString(), usage, costUsd: '0.0012' }
}

const server = createServer((request, response) => {
  // A client that disconnects mid-stream is not an error.
  answer(request, response).catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`)
})
