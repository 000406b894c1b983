import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../server/agents/config/define-config.ts'

/** Runs wait until the gate named in their params opens, or until they are canceled. */
const gates = new Map<string, PromiseWithResolvers<void>>()
/** Number of runs started per gate. */
const begun = new Map<string, number>()

function gateOf(name: string): PromiseWithResolvers<void> {
  const gate = gates.get(name) ?? Promise.withResolvers<void>()
  gates.set(name, gate)
  return gate
}

export function openGate(name: string): void {
  gateOf(name).resolve()
}

export function runsOf(name: string): number {
  return begun.get(name) ?? 0
}

async function pass(name: string, signal: AbortSignal): Promise<{ passed: string }> {
  begun.set(name, runsOf(name) + 1)
  const stopped = new Promise<void>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  )
  await Promise.race([gateOf(name).promise, stopped])
  return { passed: name }
}

const priceUsd = '0.0100'
const gated = z.object({ gate: z.string() })
const endpoint = defineEndpoint({
  description: 'Answers its params.',
  priceUsd,
  params: {},
  run: ({ params }) => params as object,
})

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'desk',
      name: 'Desk',
      endpoints: {
        wait: defineEndpoint({
          description: 'Waits for its gate.',
          priceUsd,
          params: gated,
          run: ({ params, signal }) => pass(params.gate, signal),
        }),
        keep: defineEndpoint({
          description: 'Waits for its gate, and is not stopped at work.',
          priceUsd,
          params: gated,
          cancel: 'pending',
          run: ({ params, signal }) => pass(params.gate, signal),
        }),
        tell: defineEndpoint({
          description: 'Tells how far it has come.',
          priceUsd,
          params: gated,
          run: async ({ params, progress, signal }) => {
            progress({ message: 'reading' })
            progress({ fraction: 0.5, message: 'half' })
            await pass(params.gate, signal)
            progress({ fraction: 1 })
            return {}
          },
        }),
        fail: defineEndpoint({
          description: 'Fails.',
          priceUsd,
          params: {},
          run: () => {
            throw new Error('told to')
          },
        }),
        pages: defineEndpoint({
          description: 'Charges so many pages.',
          pricing: { events: { page: '0.0020' }, maxUsd: '0.1000' },
          params: z.object({ pages: z.number() }),
          run: ({ charge, params }) => ({ charged: charge('page', params.pages) }),
        }),
        large: defineEndpoint({
          description: 'Answers so many characters.',
          priceUsd,
          params: z.object({ chars: z.number() }),
          run: ({ params }) => ({ text: 'x'.repeat(params.chars) }),
        }),
        value: defineEndpoint({
          description: 'Returns its value, or a string of so many characters.',
          priceUsd,
          params: z.object({ value: z.unknown(), chars: z.number().optional() }),
          run: ({ params }) => (params.chars === undefined ? params.value : 'é'.repeat(params.chars)),
        }),
      },
    },
    // Two agents whose endpoints would get the same tool name.
    { kind: 'code', id: 'a_b', name: 'One', endpoints: { c: endpoint } },
    { kind: 'code', id: 'a', name: 'Other', endpoints: { b_c: endpoint } },
    { kind: 'code', id: 'private', name: 'Private', visibility: ['vip@example.com'], endpoints: { echo: endpoint } },
  ],
})
