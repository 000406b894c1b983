import { z } from 'zod'
import {
  cursorInput,
  cursorOutput,
  isoTimestamp,
  jsonObject,
  maxCostUsd,
  pageInput,
  pageOutput,
  resourceId,
  tagChanges,
  tagFilter,
  tagsInput,
  tagsOutput,
  timeFilter,
  usd,
} from '../kernel/wire-types.ts'
import { ConnectorIds } from './session-connectors.ts'
import { messageRoles, sessionStatuses } from '../store/records.ts'

// Wire types of the session operations, shared by REST and typed RPC.

const SessionStatus = z.enum(sessionStatuses)
const sessionId = resourceId.describe('The id returned when the session was created')
const metadata = jsonObject.describe('Free-form data of the caller, at most 16 KB as JSON')

export const CreateSessionInput = z.object({
  agentId: resourceId.describe('Agent that the session converses with'),
  metadata: metadata.optional(),
  tags: tagsInput.optional(),
  connectorIds: ConnectorIds.optional(),
  maxCostUsd: maxCostUsd.optional().describe('What all chats of the session may cost together'),
})

export const CreateSessionOutput = z.object({
  sessionId: z.string(),
  agentId: z.string(),
  status: z.literal('active'),
  createdAt: isoTimestamp,
})

export const SessionInput = z.object({ sessionId })

export const Session = z
  .object({
    id: z.string(),
    userId: z.string(),
    agentId: z.string(),
    status: SessionStatus.describe('`expired` after 24 hours without a chat or an update'),
    metadata: jsonObject,
    tags: tagsOutput,
    messageCount: z.number().int().describe("The user's messages and the replies"),
    maxCostUsd: usd.optional().describe('What all its chats may cost together; omitted without a cap'),
    spentUsd: usd.describe('What its chats were charged'),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'Session' })
export type Session = z.output<typeof Session>

export const ListSessionsInput = z.object({
  status: SessionStatus.optional().describe('Only sessions in this state'),
  agentId: resourceId.optional().describe('Only sessions with this agent'),
  ...tagFilter,
  ...timeFilter,
  ...cursorInput,
})

const SessionListItem = z
  .object({
    id: z.string(),
    agentId: z.string(),
    status: SessionStatus,
    tags: tagsOutput,
    messageCount: z.number().int(),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'SessionListItem' })

export const ListSessionsOutput = z.object({ sessions: z.array(SessionListItem), ...pageOutput, ...cursorOutput })

export const UpdateSessionInput = z
  .object({
    sessionId,
    status: z
      .enum(['active', 'completed'])
      .optional()
      .describe('`completed` ends the session for good; `active` changes nothing'),
    metadata: metadata.optional().describe('Merged key by key; null removes a key'),
    tags: tagChanges.optional(),
    maxCostUsd: maxCostUsd
      .nullable()
      .optional()
      .describe('No less than what its chats were charged and the one under way holds; null removes the cap'),
  })
  .refine(({ sessionId: _, ...changes }) => Object.values(changes).some((change) => change !== undefined), {
    message: 'Give a status, metadata, tags or maxCostUsd',
  })

const MessagePart = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({
      type: z.literal('file'),
      payloadId: z.string().describe('For a file part of a later message'),
      mediaType: z.string(),
      filename: z.string().optional(),
      bytes: z.number().int(),
      url: z.string().describe('Downloads the file for an hour, for whoever has it'),
    }),
  ])
  .meta({ id: 'MessagePart' })

const Message = z
  .object({
    id: z.string(),
    role: z.enum(messageRoles),
    content: z.string().describe('Of a message in parts its texts, joined by line breaks'),
    parts: z.array(MessagePart).optional().describe('Of a message that was sent in parts'),
    toolCalls: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          arguments: jsonObject,
          argumentsBytes: z.number().int().optional().describe('Of arguments of which only a `preview` is kept'),
          output: jsonObject.nullable().describe('Null when the reply was cut off before the result'),
          outputBytes: z.number().int().optional().describe('Of an output of which only a `preview` is kept'),
        }),
      )
      .optional()
      .describe('Of a reply that called tools; at most 256 KB are kept'),
    truncated: z
      .boolean()
      .optional()
      .describe('True for a reply that was cut off, or is longer than the 1 MB that are kept'),
    turnId: z.string().describe('The chat that it belongs to, as its transaction names it'),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'Message' })

export const ListMessagesInput = z.object({ sessionId, ...pageInput })
export const ListMessagesOutput = z.object({ messages: z.array(Message), ...pageOutput })
