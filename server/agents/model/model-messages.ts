import type { ModelMessage, UserContent } from 'ai'
import { isTextType } from '../files/media-types.ts'
import type { SentFile, SentMessage, SentPart } from '../run/chat-messages.ts'
import { markTokens } from '../run/prompt-size.ts'

type ContentPart = Exclude<UserContent, string>[number]

export function modelMessage({ content, parts, role }: SentMessage): ModelMessage {
  if (role !== 'user' || !parts) return { role, content }
  const isBlank = (part: ContentPart) => part.type === 'text' && part.text.trim() === ''
  return { role, content: parts.map(contentPart).filter((part) => !isBlank(part)) }
}

function contentPart(part: SentPart): ContentPart {
  if (part.type === 'text') return part
  const { data, filename, mediaType } = part
  if (!data) return { type: 'text', text: `[${nameOf(part)} was sent earlier and is omitted here]` }
  // Send text files inline. All providers accept that, but few accept text as a file.
  if (isTextType(mediaType)) return { type: 'text', text: `[${nameOf(part)}]\n${new TextDecoder().decode(data)}` }
  const named = filename !== undefined && { filename }
  return { type: 'file', data, mediaType, ...named, providerOptions: markTokens(part) }
}

function nameOf({ filename, mediaType }: SentFile): string {
  return filename === undefined ? mediaType : `${filename}, ${mediaType}`
}
