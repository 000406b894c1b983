import { defineConfig } from '../../server/agents/config/define-config.ts'

/** URL of the test's service, known only at run time. */
export const remoteUrlVariable = 'TEST_REMOTE_AGENT_URL'

const endpoint = { priceUsd: '0.0100', params: { type: 'object' } }

/** Configuration file for threads: an agent whose service is the test. */
export default defineConfig({
  agents: [
    {
      kind: 'http',
      id: 'remote',
      name: 'Remote',
      url: process.env[remoteUrlVariable] ?? 'http://127.0.0.1:1/',
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      endpoints: {
        run: { description: 'Is run by the service.', ...endpoint },
        brief: { description: 'Has a second for it.', timeoutSeconds: 1, ...endpoint },
      },
      chat: { pricing: { inputPer1kUsd: '0.1', outputPer1kUsd: '0.2', toolCallUsd: '0.05' } },
    },
  ],
})
