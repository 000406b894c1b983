import { defineEndpoint, type CodeAgentConfig } from 'errand'
import { z } from 'zod'

export const greet = defineEndpoint({
  description: 'Greets somebody by name.',
  priceUsd: '0.0100',
  params: z.object({ name: z.string().min(1).max(100) }).meta({ examples: [{ name: 'Ada' }] }),
  run: ({ params }) => ({ greeting: `Hello, ${params.name}!` }),
})

export const greeter: CodeAgentConfig = {
  kind: 'code',
  id: 'hello',
  name: 'Hello',
  description: 'A first agent.',
  endpoints: { greet },
}
