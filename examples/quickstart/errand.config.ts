import { setTimeout } from 'node:timers/promises'
import { defineConfig, defineEndpoint } from 'errand'
import { z } from 'zod'
import { assistantChat } from './assistant.ts'
import { keywords } from './find-keywords.ts'
import { openModelAgent } from './model-agent.ts'
import { profile } from './profile-csv.ts'
import { summarize } from './summarize-text.ts'

const fail = defineEndpoint({
  description: 'Always fails, so that you can see the charge and the full refund in the transactions.',
  priceUsd: '0.0100',
  timeoutSeconds: 10,
  connectorTokensMax: 0,
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
  description: 'Waits, so that you can watch a task while it runs.',
  priceUsd: '0.0010',
  timeoutSeconds: 90,
  retries: 1,
  connectorTokensMax: 0,
  params: z.object({
    seconds: z.number().min(0).max(60).default(5).describe('How long to wait, in seconds; fractions are allowed.'),
  }),
  async run({ params, signal }) {
    await setTimeout(params.seconds * 1000, undefined, { signal })
    return { waitedSeconds: params.seconds }
  },
})

const connectedTools = defineEndpoint({
  description: 'Lists the tools of the selected connectors, and their arguments.',
  priceUsd: '0.0010',
  timeoutSeconds: 60,
  params: z.object({}),
  run: ({ connectors }) => ({ tools: connectors.tools }),
})

const callTool = defineEndpoint({
  description: 'Calls a tool of the selected connectors.',
  priceUsd: '0.0050',
  timeoutSeconds: 120,
  params: z.object({
    tool: z.string().min(1).describe('Name of the tool, as listed by services.tools.'),
    arguments: z.record(z.string(), z.unknown()).default({}).describe('Arguments of the tool.'),
  }),
  run: ({ connectors, params }) => connectors.call(params.tool, params.arguments),
})

/** Undefined unless the environment names a provider. */
const model = await openModelAgent(process.env)

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'text',
      name: 'Text tools',
      description: 'Summarizes texts and finds their keywords, in any language. Runs on this machine, without a model.',
      endpoints: { summarize, keywords },
    },
    {
      kind: 'code',
      id: 'data',
      name: 'Data tools',
      description: 'Profiles CSV tables: the type, range and statistics of each column.',
      endpoints: { profile },
    },
    {
      kind: 'code',
      id: 'assistant',
      name: 'Assistant',
      description:
        'Paste a table or a text into the chat and send a request such as "total amount by city" or ' +
        '"5 keywords". Send "help" for a list. Runs on this machine, without a model.',
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
      description: 'Shows how the service behaves: one task fails and is refunded, and one takes a while.',
      endpoints: { fail, wait },
    },
  ],
})
