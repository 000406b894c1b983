import type { Agent } from '../../../client/client.ts'
import { formatUsd, parseUsd } from '../../../server/kernel/money.ts'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { Money } from '../../parts/text/money.tsx'

type Endpoint = Agent['endpoints'][number]

/** What a task of an endpoint costs, or may cost at most where that depends on what it does. */
export function EndpointPrice({ endpoint }: { endpoint: Pick<Endpoint, 'priceUsd' | 'pricing'> }) {
  if (!endpoint.pricing) return <Money usd={endpoint.priceUsd} />
  return (
    <>
      up to <Money usd={endpoint.priceUsd} />
    </>
  )
}

/** The price of one of each event that a metered task is charged for. */
export function EventPrices({ pricing: { events } }: { pricing: NonNullable<Endpoint['pricing']> }) {
  return (
    <KeyValueList
      rows={Object.entries(events).map(([name, usd]) => [`Each ${name}`, <Money key={name} usd={usd} />])}
    />
  )
}

/** What is charged when the run is created: of a metered one no more than the cap that it is given. */
export function chargedUsd({ priceUsd, pricing }: Endpoint, capUsd: string): string {
  const [cap, price] = [parseUsd(capUsd), parseUsd(priceUsd)]
  if (!pricing || cap === undefined || price === undefined || cap >= price) return priceUsd
  return formatUsd(cap)
}
