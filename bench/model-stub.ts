import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { parseModelScript, stampedDelta, type ModelScript } from './model-script.ts'

// A model provider in a separate process. Sends OpenAI's chat completions as server-sent events, one event per delta.
// Builds unpaced events in advance, so that it takes little CPU time from the servers under test.

/** Number of events per write if the script is not paced. */
const burstEvents = 16

const head = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_767_225_600, model: 'bench' }
const plainEvents = Array.from({ length: 1000 }, (_, index) => deltaEvent(`the words come ${index}`))

function deltaEvent(content: string): string {
  return eventText({ ...head, choices: [{ index: 0, delta: { content }, finish_reason: null }] })
}

function eventText(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: { content: string }[] }
  const script = parseModelScript(messages.at(-1)!.content)
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' })
  response.write(eventText({ ...head, choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }))
  await (script.everyMs === 0 ? writeFast(response, script) : writePaced(response, script))
  const usage = { prompt_tokens: 20, completion_tokens: script.deltas * 4, total_tokens: 20 + script.deltas * 4 }
  response.write(eventText({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
  response.end(`${eventText({ ...head, choices: [], usage })}data: [DONE]\n\n`)
}

async function writeFast(response: ServerResponse, { deltas }: ModelScript): Promise<void> {
  for (let sent = 0; sent < deltas; sent += burstEvents) {
    const first = sent % plainEvents.length
    const events = plainEvents.slice(first, first + Math.min(burstEvents, deltas - sent))
    if (!response.write(events.join(''))) await once(response, 'drain')
    else await nextTurn()
  }
}

/** Schedules each delta relative to the start of the reply, so that a late delta does not delay later ones. */
async function writePaced(response: ServerResponse, { deltas, everyMs }: ModelScript): Promise<void> {
  const from = performance.now()
  for (let sent = 0; sent < deltas; sent++) {
    await sleep(Math.max(0, from + sent * everyMs - performance.now()))
    if (response.destroyed) return
    response.write(deltaEvent(stampedDelta()))
  }
}

const server = createServer((request, response) => {
  // A client that disconnects mid-stream is not an error.
  answer(request, response).catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', 1024, () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`)
})
