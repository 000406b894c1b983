import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { defineConfig, defineEndpoint, type TaskRun } from '../../server/agents/config/define-config.ts'

// Agents that pass their result to a connector or report it as progress, and then end in various ways.

const priceUsd = '0.0100'
const params = z.object({ end: z.enum(['done', 'throw', 'hang']).default('done') })

async function handOver({ connectors, params: { end }, signal }: TaskRun<z.output<typeof params>>): Promise<object> {
  const [tool] = connectors.tools
  const answer = tool ? await connectors.call(tool.name, { answer: 42 }) : { text: '', isError: false }
  if (end === 'throw') throw new Error('No more.')
  if (end === 'hang') await once(signal, 'abort')
  return { text: answer.text, isError: answer.isError }
}

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'free',
      name: 'Free',
      endpoints: {
        answer: defineEndpoint({ description: 'Hands its answer to a connector.', priceUsd, params, run: handOver }),
        brief: defineEndpoint({ description: 'The same.', priceUsd, params, timeoutSeconds: 2, run: handOver }),
        late: defineEndpoint({
          description: 'Calls a connector when it was told to.',
          priceUsd,
          params,
          run: async ({ connectors }) => {
            await pause(300)
            await connectors.call(connectors.tools[0]!.name)
            await pause(300)
            return {}
          },
        }),
        metered: defineEndpoint({
          description: 'Charges and shows a page.',
          pricing: { events: { page: priceUsd }, maxUsd: priceUsd },
          params,
          run: async ({ charge, params: { end }, progress, signal }) => {
            charge('page')
            progress({ data: { answer: 42 } })
            if (end === 'hang') await once(signal, 'abort')
            else await pause(500)
            return {}
          },
        }),
      },
    },
  ],
})
