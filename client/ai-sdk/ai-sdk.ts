// For chats by the AI SDK of Vercel: a page with `useChat`, and a route that answers one. Its types are spelled out here,
// so that the package needs none of `ai`.

export {
  ErrandChatTransport,
  type ChatCalls,
  type ChatEnd,
  type ErrandChatTransportOptions,
  type ReconnectRequest,
  type SendRequest,
} from './chat-transport.ts'
export { toUIMessages } from './ui-messages.ts'
export { toUIMessageStream, toUIMessageStreamResponse, type UIResponseOptions } from './ui-streams.ts'
export type { ErrandMetadata, ErrandUIMessage, ErrandUIMessageChunk, ReplyError, UIStreamOptions } from './ui-types.ts'
