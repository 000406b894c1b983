import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { defineConfig } from 'errand'
import { mastraReply } from 'errand/adapters/mastra'
import { z } from 'zod'

const weatherTool = createTool({
  id: 'get-weather',
  description: 'Get current weather for a location',
  inputSchema: z.object({ location: z.string() }),
  execute: async ({ location }) => ({ location, temperature: 21, conditions: 'sunny' }),
})

const weatherAgent = new Agent({
  id: 'weather-agent',
  name: 'Weather Agent',
  instructions: 'You are a helpful weather assistant. Use the tool to fetch current weather data.',
  model: 'openai/gpt-5-mini',
  tools: { weatherTool },
})

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'weather',
      name: 'Weather',
      chat: {
        pricing: { inputPerMillionUsd: '0.50', outputPerMillionUsd: '4', toolCallUsd: '0.0005' },
        reply: mastraReply(weatherAgent),
      },
    },
  ],
})
