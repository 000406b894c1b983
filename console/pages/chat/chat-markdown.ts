import type { Message, Session } from '../../../client/client.ts'
import { readFrom } from './transcript/transcript.ts'

/** Loads all messages of a session and formats them as Markdown. Omits replaced messages, as the page does. */
export async function chatMarkdown(session: Session, agentName: string): Promise<Blob> {
  const { agentId, createdAt, id, title = agentName } = session
  const { messages } = await readFrom(id, 0)
  const replaced = new Set(messages.flatMap(({ replaces }) => replaces ?? []))
  const head = [`# ${title}`, `Chat ${id} with ${agentName} (${agentId}), created ${timeOf(createdAt)}.`]
  const sections = messages.filter(({ turnId }) => !replaced.has(turnId)).flatMap(sectionOf)
  return new Blob([[...head, ...sections].join('\n\n'), '\n'], { type: 'text/markdown' })
}

function sectionOf({ content, createdAt, parts = [], role, toolCalls = [], truncated }: Message): string[] {
  return [
    `## ${role === 'user' ? 'User' : 'Assistant'}, ${timeOf(createdAt)}`,
    ...parts.flatMap((part) => (part.type === 'file' ? `File: ${part.filename ?? part.mediaType}` : [])),
    ...toolCalls.map(({ name }) => `Tool call: \`${name}\``),
    ...(content === '' ? [] : [content]),
    ...(truncated ? ['*The reply was cut off.*'] : []),
  ]
}

function timeOf(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`
}
