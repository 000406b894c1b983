import { query } from '@anthropic-ai/claude-agent-sdk'
import { defineConfig } from 'errand'
import { claudeAgentReply } from 'errand/adapters/claude-agent'

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'reader',
      name: 'Reader',
      chat: {
        pricing: { inputPerMillionUsd: '4', outputPerMillionUsd: '20', toolCallUsd: '0.0005' },
        reply: claudeAgentReply(query, { model: 'claude-sonnet-4-5', tools: ['Read', 'Glob', 'Grep'], maxTurns: 10 }),
      },
    },
  ],
})
