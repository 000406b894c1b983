import type { Agent } from '../../../client/client.ts'
import { formatUsd, parseUsd } from '../../../server/kernel/money.ts'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { Money } from '../../parts/text/money.tsx'

type Endpoint = Agent['endpoints'][number]

export function EndpointPrice({ endpoint }: { endpoint: Pick<Endpoint, 'priceUsd' | 'pricing'> }) {
  if (!endpoint.pricing) return <Money usd={endpoint.priceUsd} />
  return (
    <>
      up to <Money usd={endpoint.priceUsd} />
    </>
  )
}

export function EventPrices({ pricing: { events } }: { pricing: NonNullable<Endpoint['pricing']> }) {
  return (
    <KeyValueList
      rows={Object.entries(events).map(([name, usd]) => [`Each ${name}`, <Money key={name} usd={usd} />])}
    />
  )
}

/** Returns the amount charged when the run is created. For a metered endpoint, the user's cap limits this amount. */
export function chargedUsd({ priceUsd, pricing }: Endpoint, capUsd: string): string {
  const [cap, price] = [parseUsd(capUsd), parseUsd(priceUsd)]
  if (!pricing || cap === undefined || price === undefined || cap >= price) return priceUsd
  return formatUsd(cap)
}
