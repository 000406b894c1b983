import { useSyncExternalStore } from 'react'
import { isConnectionLost, onConnectionChange } from './query-client.ts'
import classes from './shell.module.css'

export function useIsConnectionLost(): boolean {
  return useSyncExternalStore(onConnectionChange, isConnectionLost)
}

/** Shown in the header while the service is unreachable. Failed queries retry until they reach it. */
export function ConnectionStrip() {
  return (
    <div className={classes.strip} role="alert">
      Could not reach the service. Retrying…
    </div>
  )
}
