import { setTimeout } from 'node:timers/promises'
import { defineConfig, defineEndpoint } from 'errand'
import { z } from 'zod'
import { assistantChat } from './assistant/assistant-chat.ts'
import { findKeywords } from './find-keywords.ts'
import { openModelAgent } from './model-agent.ts'
import { profileCsv } from './profile-csv.ts'
import { summarizeText } from './summarize-text.ts'

const text = z
  .string()
  .min(1, 'The text is empty.')
  .refine((value) => /[\p{L}\p{N}]/u.test(value), 'The text has no words.')

const summarize = defineEndpoint({
  description:
    'Summarizes a text by its own most central sentences, word for word and in their order (TextRank). Works offline, ' +
    'in any language, on anything from a paragraph to a book. Answers with the summary, its sentences with their ' +
    'scores, and how many sentences and words the text has.',
  priceUsd: '0.0100',
  timeoutSeconds: 120,
  retries: 1,
  params: z.object({
    text: text.describe('The text to summarize: plain text or Markdown, with at least one word.'),
    sentences: z
      .int()
      .min(1)
      .max(20)
      .default(3)
      .describe('How many sentences the summary has at most. A shorter text is returned whole.'),
  }),
  run: ({ params, signal }) => summarizeText(params.text, { sentences: params.sentences, signal }),
})

const keywords = defineEndpoint({
  description:
    'Finds the words and phrases that a text is about, best first, each with its score and how often it occurs ' +
    '(TextRank). Works offline; the language is recognized by the text itself, and phrases of up to four words are found.',
  priceUsd: '0.0050',
  timeoutSeconds: 120,
  retries: 1,
  params: z.object({
    text: text.describe('The text to find keywords in: plain text or Markdown, with at least one word.'),
    limit: z.int().min(1).max(50).default(10).describe('How many keywords are returned at most.'),
  }),
  run: ({ params, signal }) => findKeywords(params.text, { limit: params.limit, signal }),
})

const profile = defineEndpoint({
  description:
    "Describes each column of a CSV table: its type, missing and different values, and exact figures: a number column's " +
    "minimum, maximum, mean, median and standard deviation, a date column's range, a text column's most frequent values. " +
    'Numbers have a decimal point; "1,5" is text, and so are digits after a leading zero such as "007". Dates are ISO ' +
    '8601. Ragged rows, repeated names and the like are reported as warnings; broken quotes fail, naming the line.',
  priceUsd: '0.0200',
  timeoutSeconds: 120,
  retries: 1,
  params: z.object({
    csv: z
      .string()
      .min(1, 'The CSV is empty.')
      .describe('The table as CSV text. Values with separators, quotes or line breaks stand in double quotes.'),
    delimiter: z
      .string()
      .regex(/^[^"\r\n]$/, 'The delimiter is one character, and neither a quote nor a line break.')
      .optional()
      .describe('The one character between values. Left out, it is detected among comma, semicolon, tab and bar.'),
    header: z.boolean().default(true).describe('Whether the first row holds the names of the columns.'),
  }),
  run: ({ params, signal }) => {
    return profileCsv(params.csv, { delimiter: params.delimiter, header: params.header, signal })
  },
})

const fail = defineEndpoint({
  description: 'Always fails, so that you can see the charge and the full refund among the transactions.',
  priceUsd: '0.0100',
  timeoutSeconds: 10,
  params: z.object({
    reason: z
      .string()
      .min(1)
      .max(500)
      .default('This demonstration always fails.')
      .describe('The message that the failed task shows.'),
  }),
  run({ params }) {
    throw new Error(params.reason)
  },
})

const wait = defineEndpoint({
  description: 'Waits, so that you can watch a task while it is being processed.',
  priceUsd: '0.0010',
  timeoutSeconds: 90,
  retries: 1,
  params: z.object({
    seconds: z.number().min(0).max(60).default(5).describe('How long to wait, in seconds; fractions are allowed.'),
  }),
  async run({ params, signal }) {
    await setTimeout(params.seconds * 1000, undefined, { signal })
    return { waitedSeconds: params.seconds }
  },
})

const connectedTools = defineEndpoint({
  description: 'Lists the tools of the connected services that the task names as connectorIds, with their arguments.',
  priceUsd: '0.0010',
  timeoutSeconds: 60,
  params: z.object({}),
  run: ({ connectors }) => ({ tools: connectors.tools }),
})

const callTool = defineEndpoint({
  description: 'Calls a tool of the connected services that the task names as connectorIds.',
  priceUsd: '0.0050',
  timeoutSeconds: 120,
  params: z.object({
    tool: z.string().min(1).describe('Name of the tool, as services.tools lists it.'),
    arguments: z.record(z.string(), z.unknown()).default({}).describe('The arguments that the tool takes.'),
  }),
  run: ({ connectors, params }) => connectors.call(params.tool, params.arguments),
})

/** Absent unless the environment names a provider. */
const model = await openModelAgent(process.env)

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'text',
      name: 'Text tools',
      description: 'Summaries and keywords of texts in any language. They run on this machine, without a model.',
      endpoints: { summarize, keywords },
    },
    {
      kind: 'code',
      id: 'data',
      name: 'Data tools',
      description: 'A close look at tables: what each column of a CSV holds, with exact figures.',
      endpoints: { profile },
    },
    {
      kind: 'code',
      id: 'assistant',
      name: 'Assistant',
      description:
        'Paste a table or a text into the chat and ask about it: totals, averages and counts by group, summaries, ' +
        'keywords. Understands English keywords, computes exactly and runs on this machine, without a model.',
      chat: assistantChat,
    },
    {
      kind: 'code',
      id: 'services',
      name: 'Connected services',
      description: 'Lists and calls the tools of services that you have connected.',
      endpoints: { tools: connectedTools, call: callTool },
    },
    ...(model ? [model] : []),
    {
      kind: 'code',
      id: 'demo',
      name: 'Demonstrations',
      description: 'Tasks that show how the service behaves: one fails and is refunded, one takes its time.',
      endpoints: { fail, wait },
    },
  ],
})
