import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import chatAgents from '../support/chat-agents.ts'
import { modelAgents } from './model-agents.ts'

// Configuration for agent threads that records when a thread loads the token encoding.

const { TEST_ENCODING_KIND: kind, TEST_ENCODING_NOTES: notes } = process.env

registerHooks({
  resolve(specifier, context, next) {
    if (notes !== undefined && specifier.startsWith('gpt-tokenizer')) appendFileSync(notes, `${specifier}\n`)
    return next(specifier, context)
  },
})

export default kind === 'models' ? defineConfig(modelAgents('http://127.0.0.1:9')) : chatAgents
