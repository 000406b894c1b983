import { setTimeout } from 'node:timers/promises'
import { defineConfig, defineEndpoint } from 'errand'
import { z } from 'zod'
import { assistantChat } from './assistant.ts'
import { keywords } from './find-keywords.ts'
import { openModelAgent } from './model-agent.ts'
import { profile } from './profile-csv.ts'
import { summarize } from './summarize-text.ts'

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

/** Undefined unless the environment names a provider. */
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
      description: 'A close look at tables: what each column of a CSV holds, with its figures.',
      endpoints: { profile },
    },
    {
      kind: 'code',
      id: 'assistant',
      name: 'Assistant',
      description:
        'Paste a table or a text into the chat and send one of a few requests, such as "total amount by city" or ' +
        '"5 keywords"; "help" lists them. Runs on this machine, without a model.',
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
