import { createContext, useContext, useMemo, type ReactNode } from 'react'
import type { ErrandClient } from '../client.ts'

/** The client that the components use, and listeners that are called after a charge or a credit. */
type Errand = { client: ErrandClient; listeners: Set<() => void> }

const ErrandContext = createContext<Errand | undefined>(undefined)

export type ErrandProviderProps = {
  /** A client whose `apiKey` is the user's client token. Create it outside the component, or with `useMemo`. */
  client: ErrandClient
  children?: ReactNode
}

export function ErrandProvider({ children, client }: ErrandProviderProps): ReactNode {
  const errand = useMemo(() => ({ client, listeners: new Set<() => void>() }), [client])
  return <ErrandContext.Provider value={errand}>{children}</ErrandContext.Provider>
}

/** Returns the client of the nearest provider. */
export function useErrand(): ErrandClient {
  return useErrandContext().client
}

export function useErrandContext(): Errand {
  const errand = useContext(ErrandContext)
  if (!errand) throw new Error('This component does not have a client. Put it inside <ErrandProvider client={…}>.')
  return errand
}

/** Makes all balances of the provider reload. */
export function announceCharge({ listeners }: Errand): void {
  for (const listener of listeners) listener()
}
