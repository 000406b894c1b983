import { openai } from '@ai-sdk/openai'
import { tool, ToolLoopAgent } from 'ai'
import { defineConfig } from 'errand'
import { aiSdkReply } from 'errand/adapters/ai-sdk'
import { z } from 'zod'

const weatherAgent = new ToolLoopAgent({
  model: openai('gpt-5-mini'),
  tools: {
    weather: tool({
      description: 'Get the weather in a location (in Fahrenheit)',
      inputSchema: z.object({ location: z.string().describe('The location to get the weather for') }),
      execute: async ({ location }) => ({ location, temperature: 72 + Math.floor(Math.random() * 21) - 10 }),
    }),
  },
})

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'weather',
      name: 'Weather',
      chat: {
        pricing: { inputPerMillionUsd: '0.50', outputPerMillionUsd: '4', toolCallUsd: '0.0005' },
        reply: aiSdkReply(weatherAgent),
      },
    },
  ],
})
