import { createClient, isErrandError } from 'errand/client'
import { toUIMessages, toUIMessageStreamResponse } from 'errand/client/ai-sdk'

// Routes of the app, in the style of Next.js. Each route takes a request and returns a response. In your own project,
// import the client from errand-client and errand-client/ai-sdk.

type ChatRoutesOptions = {
  /** URL of Errand, for this server and for browsers. */
  errandUrl: string
  /** Needs the scopes `read` and `execute`. Never leaves this server. */
  apiKey: string
  agentId: string
}

type Handler = (request: Request) => Promise<Response>

const messageCharsMax = 10_000

export function createChatRoutes({ agentId, apiKey, errandUrl }: ChatRoutesOptions): Record<string, Handler> {
  const errand = createClient({ baseUrl: errandUrl, apiKey })

  /** Reads the visitor's session id from an HttpOnly cookie. Page scripts can neither read nor replace this cookie. */
  function sessionOf(request: Request): string {
    const sessionId = cookieOf(request)
    if (sessionId === undefined) throw new Response('Open the page first.', { status: 401 })
    return sessionId
  }

  async function isOpen(sessionId: string): Promise<boolean> {
    try {
      return (await errand.sessions.get({ sessionId })).status === 'active'
    } catch (error) {
      if (isErrandError(error) && error.status === 404) return false
      throw error
    }
  }

  return {
    'GET /api/chat': async (request) => {
      const known = cookieOf(request)
      const isActive = known !== undefined && (await isOpen(known))
      const sessionId = isActive ? known : (await errand.sessions.create({ agentId })).sessionId
      const { messages } = await errand.sessions.messages({ sessionId, limit: 100 })
      const headers = { 'set-cookie': `chat=${sessionId}; HttpOnly; SameSite=Lax; Path=/` }
      return Response.json({ sessionId, errandUrl, messages: toUIMessages(messages) }, { headers })
    },

    // For a page that calls Errand directly: returns a token for its session. The token is valid for 15 minutes and up
    // to 0.50 USD.
    'POST /api/token': async (request) => {
      const of = { sessionId: sessionOf(request), maxCostUsd: '0.50', expiresInSeconds: 900 }
      const { expiresAt, token } = await errand.clientTokens.create(of)
      return Response.json({ expiresAt, token })
    },

    // For a page that calls only this server: routes to send a message, resume a reply and stop a reply.
    'POST /api/chat': async (request) => {
      const { message } = (await request.json()) as { message?: unknown }
      if (typeof message !== 'string' || message.length > messageCharsMax) {
        return new Response(`The message must be a string of at most ${messageCharsMax} characters.`, { status: 400 })
      }
      const sessionId = sessionOf(request)
      return await toUIMessageStreamResponse(errand.chat.stream({ sessionId, message, onDisconnect: 'continue' }))
    },
    'GET /api/chat/stream': async (request) =>
      await toUIMessageStreamResponse(errand.chat.resumeSession({ sessionId: sessionOf(request) })),
    'POST /api/chat/stop': async (request) => {
      const stream = errand.chat.resumeSession({ sessionId: sessionOf(request) })
      await stream.begin()
      const { turnId } = stream
      if (turnId !== undefined) await errand.chat.stop({ turnId })
      let costUsd: string | undefined
      // Read the reply to its end, because the session is busy until then.
      for await (const event of stream) if ('costUsd' in event) costUsd = event.costUsd
      return Response.json({ turnId, costUsd })
    },
  }
}

function cookieOf({ headers }: Request): string | undefined {
  return /(?:^|; )chat=([\w-]+)/.exec(headers.get('cookie') ?? '')?.[1]
}
