import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { defineConfig } from 'errand'
import { langGraphReply } from 'errand/adapters/langgraph'
import { createAgent } from 'langchain'
import { z } from 'zod'

const getWeather = tool(({ city }: { city: string }) => `It's always sunny in ${city}!`, {
  name: 'get_weather',
  description: 'Get the weather for a given city',
  schema: z.object({ city: z.string() }),
})

const agent = createAgent({ model: new ChatOpenAI({ model: 'gpt-5-mini', maxTokens: 4096 }), tools: [getWeather] })

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'weather',
      name: 'Weather',
      chat: {
        pricing: { inputPerMillionUsd: '0.50', outputPerMillionUsd: '4', toolCallUsd: '0.0005' },
        reply: langGraphReply(agent.graph),
      },
    },
  ],
})
