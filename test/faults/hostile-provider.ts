import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

// A model provider that follows keywords in the conversation. It searches the raw bytes, because prompts are large.

const head = { id: 'chatcmpl-1', created: 1_767_225_600, model: 'stub-1', object: 'chat.completion.chunk' }

function eventText(delta: object, finish: string | null = null): string {
  return `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
}

const plain = Array.from({ length: 20 }, (_, n) => eventText({ content: `Word ${n} of the answer. ` })).join('')
const thought = eventText({ reasoning_content: 'I think about it for long. '.repeat(20) })
/** Tools of a user's own server. `@call-NAME` in a conversation makes the model call one. */
const toolNames = ['big', 'hang', 'drop', 'garbage', 'stop']

export async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bytesOf(request)
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })
  response.write(eventText({ role: 'assistant', content: '' }))
  if (body.includes('@think')) return think(response)
  if (body.includes('@slow')) return void setTimeout(() => finish(response, body), 15_000)
  const name = body.includes('"role":"tool"') ? undefined : toolNames.find((of) => body.includes(`@call-${of}`))
  if (name !== undefined) {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name, arguments: '{}' } }
    response.write(eventText({ tool_calls: [call] }))
    return finish(response, body, 'tool_calls')
  }
  response.write(plain)
  finish(response, body)
}

/** Streams hidden reasoning until the client leaves. */
function think(response: ServerResponse): void {
  const timer = setInterval(() => {
    if (!response.writableNeedDrain) response.write(thought)
  }, 20)
  response.once('close', () => clearInterval(timer))
}

function finish(response: ServerResponse, body: Buffer, reason = 'stop'): void {
  const prompt = Math.ceil(body.length / 4)
  const usage = { prompt_tokens: prompt, completion_tokens: 100, total_tokens: prompt + 100 }
  response.write(eventText({}, reason))
  response.end(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\ndata: [DONE]\n\n`)
}

export async function startProvider(): Promise<{ url: string; server: Server }> {
  return await listen((request, response) => answer(request, response))
}

export async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<{ url: string; server: Server }> {
  // A client that leaves early is not an error.
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1', 1024)
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}
