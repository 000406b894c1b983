import { Agent, Runner, tool } from '@openai/agents'
import { defineConfig } from 'errand'
import { openaiAgentsReply } from 'errand/adapters/openai-agents'
import { z } from 'zod'

const historyFunFact = tool({
  name: 'history_fun_fact',
  description: 'Give a fun fact about a historical event',
  parameters: z.object({}),
  execute: async () => 'Sharks are older than trees.',
})

const historyTutor = new Agent({
  name: 'History Tutor',
  instructions: 'You answer history questions clearly and concisely.',
  model: 'gpt-5-mini',
  tools: [historyFunFact],
})

const reply = openaiAgentsReply(historyTutor, new Runner())
const pricing = { inputPerMillionUsd: '0.50', outputPerMillionUsd: '4', toolCallUsd: '0.0005' }

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'history',
      name: 'History tutor',
      chat: { pricing, reply },
      endpoints: {
        explain: {
          description: 'Explains a historical event.',
          pricing: { tokens: pricing, maxUsd: '0.0500' },
          params: z.object({
            event: z
              .string()
              .max(200)
              .meta({ examples: ['the fall of Rome'] }),
          }),
          prompt: ({ event }: { event: string }) => `Explain ${event}.`,
          reply,
        },
      },
    },
  ],
})
