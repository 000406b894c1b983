import { useEffect, useRef } from 'react'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { ConnectorView } from './connector-view.tsx'
import { ConnectorsList } from './connectors-list.tsx'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'

/** All connectors, or the one selected by `?connector=`. */
export function ConnectorsPage() {
  const [connectorId] = useSearchField('connector')
  const shown = useRef(connectorId)
  useEffect(() => {
    if (shown.current === connectorId) return
    shown.current = connectorId
    focusHeading()
    scrollTo(0, 0)
  }, [connectorId])
  return connectorId === '' ? <ConnectorsList /> : <ConnectorView key={connectorId} connectorId={connectorId} />
}
