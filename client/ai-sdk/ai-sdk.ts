// Support for the Vercel AI SDK: a transport for `useChat`, and a route handler that streams a reply. The SDK's types
// are redeclared here, so that the package does not depend on `ai`.

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
