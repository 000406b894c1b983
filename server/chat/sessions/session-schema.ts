import { sessionOrders, sessionStatuses, messageRoles } from '../../store/sessions/session-types.ts'
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
} from '../../kernel/wire-types.ts'
import { ConnectorIds } from './session-connectors.ts'

const SessionStatus = z.enum(sessionStatuses)
const sessionId = resourceId.describe('The id returned when the session was created')
const metadata = jsonObject.describe('Free-form caller data, at most 16 KB of JSON')

// Excludes control characters and lone surrogates, like the pattern for tag values.
const title = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,120}$/u, 'Must be 1 to 120 characters, without control characters')
  // Some JSON Schema validators do not match patterns by code point, so the documented pattern excludes only control
  // characters.
  .meta({ pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]+$`, minLength: 1, maxLength: 120 })
const titleOutput = z.string().optional().describe('The start of the first message, unless another title was set')

export const CreateSessionInput = z.object({
  agentId: resourceId.describe('Agent of the session'),
  title: title
    .optional()
    .describe('Defaults to the title of the continued session, or to the start of the first message'),
  continues: resourceId
    .optional()
    .describe(
      'An expired or completed session of the same agent. While it exists, its history precedes that of the new session',
    ),
  metadata: metadata.optional(),
  tags: tagsInput.optional(),
  connectorIds: ConnectorIds.optional(),
  maxCostUsd: maxCostUsd.optional().describe("Cap on the total cost of the session's turns"),
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
    status: SessionStatus.describe('`expired` after 24 hours without a turn or an update'),
    title: titleOutput,
    continues: z.string().optional().describe('The session whose history precedes that of this session'),
    metadata: jsonObject,
    tags: tagsOutput,
    messageCount: z.number().int().describe("Number of the user's messages and the replies"),
    maxCostUsd: usd.optional().describe("Cap on the total cost of the session's turns; omitted if there is none"),
    spentUsd: usd.describe("Total charged for the session's turns"),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'Session' })
export type Session = z.output<typeof Session>

export const ListSessionsInput = z.object({
  status: SessionStatus.optional().describe('Returns only sessions with this status'),
  agentId: resourceId.optional().describe('Returns only sessions of this agent'),
  search: z
    .string()
    .min(1)
    .max(120)
    .optional()
    .describe('Returns only sessions whose title contains this string, ignoring case'),
  order: z
    .enum(sessionOrders)
    .optional()
    .describe(
      '`created` (the default) lists the newest first. `active` lists the last used first and cannot be combined with `createdAfter` or `createdBefore`',
    ),
  ...tagFilter,
  ...timeFilter,
  ...cursorInput,
})

const SessionListItem = z
  .object({
    id: z.string(),
    agentId: z.string(),
    status: SessionStatus,
    title: titleOutput.describe('Title of the session; never shown to admins'),
    isReplying: z.boolean().describe('Whether a reply is in progress'),
    tags: tagsOutput,
    messageCount: z.number().int(),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp.describe('Time of the last turn or update'),
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
    title: title.nullable().optional().describe('New title; if null, the next message becomes the title'),
    metadata: metadata.optional().describe('Merged by key; null removes a key'),
    tags: tagChanges.optional(),
    maxCostUsd: maxCostUsd
      .nullable()
      .optional()
      .describe(
        'Must be at least the amount charged so far plus the amount held for a turn in progress; null removes the cap',
      ),
  })
  .refine(({ sessionId: _, ...changes }) => Object.values(changes).some((change) => change !== undefined), {
    message: 'Must have at least one of status, title, metadata, tags and maxCostUsd',
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
    content: z.string().describe('Text of the message; texts of several parts are joined by line breaks'),
    parts: z.array(MessagePart).optional().describe('Parts of the message; only if it was sent in parts'),
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
      .describe('Tool calls of the reply, if any; at most 256 KB are stored'),
    truncated: z.boolean().optional().describe('True if the reply was cut off, or exceeded the 1 MB that is stored'),
    replaces: z
      .string()
      .optional()
      .describe("The `turnId` of the turn that this one replaced in the history; only for a user's message"),
    turnId: z.string().describe('The turn of the message; its transaction has the same `turnId`'),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'Message' })

export const ListMessagesInput = z.object({ sessionId, ...pageInput })
export const ListMessagesOutput = z.object({ messages: z.array(Message), ...pageOutput })
