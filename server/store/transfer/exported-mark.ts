import { StoreOpenError } from '../store-open-error.ts'

/** Setting that stores when the installation was exported. */
export const exportedSetting = 'exported'

/**
 * Throws if the installation was exported. A server started by mistake would run queued tasks a second time, and accept credits that the new installation never receives.
 */
export function assertNotExported(exportedAt: string | undefined): void {
  if (exportedAt === undefined) return
  throw new StoreOpenError(
    `This installation was exported at ${exportedAt} and may be running elsewhere. If it is not, run \`errand export --undo\` to use it here again.`,
  )
}
