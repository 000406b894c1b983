import { sessionStatuses, messageRoles } from '../store/sessions/session-types.ts'
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

// Wire types of the session operations, shared by REST and typed RPC.

const SessionStatus = z.enum(sessionStatuses)
const sessionId = resourceId.describe('The id returned when the session was created')
const metadata = jsonObject.describe('Free-form caller data, at most 16 KB of JSON')

export const CreateSessionInput = z.object({
  agentId: resourceId.describe('Agent of the session'),
  metadata: metadata.optional(),
  tags: tagsInput.optional(),
  connectorIds: ConnectorIds.optional(),
  maxCostUsd: maxCostUsd.optional().describe("Cap on the total cost of the session's chats"),
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
    maxCostUsd: usd.optional().describe("Cap on the total cost of the session's chats; omitted if there is none"),
    spentUsd: usd.describe("Total charged for the session's chats"),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'Session' })
export type Session = z.output<typeof Session>

export const ListSessionsInput = z.object({
  status: SessionStatus.optional().describe('Only sessions in this state'),
  agentId: resourceId.optional().describe('Only sessions of this agent'),
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
      .describe('`completed` ends the session permanently; `active` changes nothing'),
    metadata: metadata.optional().describe('Merged key by key; null removes a key'),
    tags: tagChanges.optional(),
    maxCostUsd: maxCostUsd
      .nullable()
      .optional()
      .describe('At least the amount charged so far plus the amount held for a chat in progress; null removes the cap'),
  })
  .refine(({ sessionId: _, ...changes }) => Object.values(changes).some((change) => change !== undefined), {
    message: 'Send at least one of status, metadata, tags and maxCostUsd',
  })

const MessagePart = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({
      type: z.literal('file'),
      payloadId: z.string().describe('Id to reuse the file in a later message'),
      mediaType: z.string(),
      filename: z.string().optional(),
      bytes: z.number().int(),
      url: z.string().describe('Download URL, valid for an hour without authentication'),
    }),
  ])
  .meta({ id: 'MessagePart' })

const Message = z
  .object({
    id: z.string(),
    role: z.enum(messageRoles),
    content: z.string().describe('The text; for a message in parts, their text joined by line breaks'),
    parts: z.array(MessagePart).optional().describe('Only for a message sent in parts'),
    toolCalls: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          arguments: jsonObject,
          argumentsBytes: z
            .number()
            .int()
            .optional()
            .describe('Original size, if only a `preview` of the arguments is stored'),
          output: jsonObject.nullable().describe('Null if the reply was cut off before the result'),
          outputBytes: z
            .number()
            .int()
            .optional()
            .describe('Original size, if only a `preview` of the output is stored'),
        }),
      )
      .optional()
      .describe('Only for a reply that called tools; at most 256 KB are stored'),
    truncated: z
      .boolean()
      .optional()
      .describe('True if the reply was cut off or exceeded 1 MB, of which the rest is not stored'),
    turnId: z.string().describe('The chat of the message; its transaction has the same `turnId`'),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'Message' })

export const ListMessagesInput = z.object({ sessionId, ...pageInput })
export const ListMessagesOutput = z.object({ messages: z.array(Message), ...pageOutput })
