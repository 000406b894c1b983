import type { ChatMessage } from '../../agents/config/define-config.ts'
import { badParam } from '../wire-error.ts'

/** What a reply is made of: the message that it answers, and those before it. */
export type Conversation = { earlier: ChatMessage[]; message: string; messageParam: string }

type Item = Record<string, unknown>
type Role = ChatMessage['role']

const roles: Record<string, Role> = { system: 'system', developer: 'system', user: 'user', assistant: 'assistant' }

/** Which parts a text is made of, in messages of chats and in items of responses. */
const textParts = new Set(['text', 'input_text', 'output_text'])

/**
 * The messages of a request, whose field is `param`. The last that is not the system's must be the user's; what the system
 * says comes before all that was said. Throws 400 for what no agent is given.
 */
export function readMessages(items: readonly unknown[], param: string): Conversation {
  const read = items.map((item, index) => readMessage(item, `${param}[${index}]`))
  const said = read.filter(({ role }) => role !== 'system')
  const last = said.at(-1)
  if (!last || last.role !== 'user') {
    throw badParam(param, 'The last message must be of the role user: it is what is answered')
  }
  if (last.content === '') throw badParam(last.param, 'Must have a text')
  const earlier = [...read.filter(({ role }) => role === 'system'), ...said.slice(0, -1)]
  return {
    earlier: earlier.map(({ content, role }) => ({ content, role })),
    message: last.content,
    messageParam: last.param,
  }
}

function readMessage(item: unknown, at: string): ChatMessage & { param: string } {
  if (!isObject(item)) throw badParam(at, 'Must be an object')
  const { content, role, type = 'message' } = item
  if (type !== 'message')
    throw badParam(`${at}.type`, `Items of the type ${quoted(type)} are not supported`, unsupported)
  if (role === 'tool' || role === 'function') {
    throw badParam(`${at}.role`, 'Results of tools are not supported: agents call their own', unsupported)
  }
  const known = typeof role === 'string' && Object.hasOwn(roles, role) ? roles[role] : undefined
  if (!known) throw badParam(`${at}.role`, 'Must be system, developer, user or assistant')
  const { tool_calls: toolCalls } = item
  if (Array.isArray(toolCalls) && toolCalls.length > 0) {
    throw badParam(`${at}.tool_calls`, 'Calls of tools are not supported: agents call their own', unsupported)
  }
  if ((content === null || content === undefined) && known === 'assistant')
    return { role: known, content: '', param: at }
  return { role: known, content: readContent(content, `${at}.content`), param: `${at}.content` }
}

function readContent(content: unknown, at: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw badParam(at, 'Must be a text, or a list of parts')
  return content.map((part: unknown, index) => readPart(part, `${at}[${index}]`)).join('')
}

function readPart(part: unknown, at: string): string {
  if (!isObject(part)) throw badParam(at, 'Must be an object')
  const { text, type } = part
  if (typeof type !== 'string' || !textParts.has(type)) {
    throw badParam(at, `Parts of the type ${quoted(type)} are not supported; send text`, unsupported)
  }
  if (typeof text !== 'string') throw badParam(`${at}.text`, 'Must be a text')
  return text
}

const unsupported = 'unsupported_value'

function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function quoted(value: unknown): string {
  return JSON.stringify(String(value).slice(0, 60))
}
