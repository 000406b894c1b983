import type { ChatMessage } from '../../../agents/config/define-config.ts'
import type { Chat } from '../../../agents/config/catalogue.ts'
import type { EarlierMessage } from '../../../chat/message-input.ts'
import { badParam, unsupported } from '../wire-error.ts'
import { isFileType, isObject, readFilePart, type ReadFile } from './read-file-part.ts'

/** A message in the format that chats use, with the paths of the message and of its file fields in the request. */
export type WireMessage = EarlierMessage & { param: string; files: readonly ReadFile[] }
export type Conversation = { earlier: WireMessage[]; message: WireMessage }

type Of = { param: string; chat: Chat }
type Role = ChatMessage['role']

const roles: Record<string, Role> = { system: 'system', developer: 'system', user: 'user', assistant: 'assistant' }

const textParts = new Set(['text', 'input_text', 'output_text'])

/**
 * Reads the messages in the request field `param`. Apart from system messages, which move to the front, the last
 * message must be the user's. Throws 400 for input that agents do not support.
 */
export function readMessages(items: readonly unknown[], { chat, param }: Of): Conversation {
  // Agents do not receive their earlier reasoning.
  const read = items.flatMap((item, index) =>
    isReasoning(item) ? [] : [readMessage(item, { chat, param: `${param}[${index}]` })],
  )
  const said = read.filter(({ role }) => role !== 'system')
  const last = said.at(-1)
  if (!last || last.role !== 'user') {
    throw badParam(param, 'Must end with a user message')
  }
  if (last.content === '') throw badParam(last.param, 'Must not be empty')
  return { earlier: [...read.filter(({ role }) => role === 'system'), ...said.slice(0, -1)], message: last }
}

export function messageNames({ earlier, message }: Conversation, param: string): Record<string, string> {
  const names: Record<string, string> = { message: message.param, messages: param }
  const name = (path: string, { content, files, param: whole }: WireMessage) => {
    names[path] = whole
    let nth = 0
    for (const [index, { type }] of (typeof content === 'string' ? [] : content).entries()) {
      const params = type === 'file' ? files[nth++]?.params : undefined
      if (!params) continue
      const at = `${path}[${index}]`
      names[at] = params.part
      names[`${at}.data`] = names[`${at}.mediaType`] = params.data
      names[`${at}.filename`] = params.filename
    }
  }
  name('message', message)
  for (const [index, one] of earlier.entries()) name(`messages[${index}]`, one)
  return names
}

/** Clients that store their own conversations send back the reasoning of earlier responses. */
function isReasoning(item: unknown): boolean {
  return isObject(item) && item['type'] === 'reasoning' && item['role'] === undefined
}

function readMessage(item: unknown, { chat, param: at }: Of): WireMessage {
  if (!isObject(item)) throw badParam(at, 'Must be an object')
  const { content, role, type = 'message' } = item
  if (type !== 'message')
    throw badParam(`${at}.type`, `Must not have items ${ofType(type)}. Send messages`, unsupported)
  if (role === 'tool' || role === 'function') {
    throw badParam(`${at}.role`, 'Must not have tool results, because agents call their own tools', unsupported)
  }
  const known = typeof role === 'string' && Object.hasOwn(roles, role) ? roles[role] : undefined
  if (!known) throw badParam(`${at}.role`, 'Must be system, developer, user or assistant')
  const { tool_calls: toolCalls } = item
  if (Array.isArray(toolCalls) && toolCalls.length > 0) {
    throw badParam(`${at}.tool_calls`, 'Must not have tool calls, because agents call their own tools', unsupported)
  }
  if ((content === null || content === undefined) && known === 'assistant') {
    return { role: known, content: '', param: at, files: [] }
  }
  const param = `${at}.content`
  return {
    role: known,
    ...readContent(content, { param, takesFiles: known === 'user' && chat.accepts.length > 0 }),
    param,
  }
}

type OfContent = { param: string; takesFiles: boolean }

function readContent(content: unknown, of: OfContent): Pick<WireMessage, 'content' | 'files'> {
  if (typeof content === 'string') return { content, files: [] }
  if (!Array.isArray(content)) throw badParam(of.param, 'Must be a string or an array of parts')
  const files: ReadFile[] = []
  const parts: Exclude<EarlierMessage['content'], string> = []
  for (const [index, part] of content.entries()) {
    const read = readPart(part, { ...of, param: `${of.param}[${index}]` })
    const last = parts.at(-1)
    if (typeof read !== 'string') {
      files.push(read)
      parts.push(read.part)
    } else if (last?.type === 'text') last.text += read
    else if (read !== '') parts.push({ type: 'text', text: read })
  }
  if (files.length > 0) return { content: parts, files }
  return { content: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''), files }
}

function readPart(part: unknown, { param: at, takesFiles }: OfContent): string | ReadFile {
  if (!isObject(part)) throw badParam(at, 'Must be an object')
  const { text, type } = part
  if (takesFiles && isFileType(type)) return readFilePart(part, at)
  if (typeof type !== 'string' || !textParts.has(type)) {
    throw badParam(at, `Must not have parts ${ofType(type)} here. Send text`, unsupported)
  }
  if (typeof text !== 'string') throw badParam(`${at}.text`, 'Must be a string')
  return text
}

/** Omits a type that is not a string, because converting an object to a string can throw. */
function ofType(type: unknown): string {
  return typeof type === 'string' ? `of the type ${JSON.stringify(type.slice(0, 60))}` : 'without a type'
}
