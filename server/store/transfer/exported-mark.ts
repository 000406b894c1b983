import { StoreOpenError } from '../store-open-error.ts'

/** Name of the setting that marks an exported installation. Its value is the time of the export. */
export const exportedSetting = 'exported'

/**
 * Throws if the installation was exported. A server started here by mistake would run the queued tasks a second time,
 * and accept credits that never reach the users.
 */
export function assertNotExported(exportedAt: string | undefined): void {
  if (exportedAt === undefined) return
  throw new StoreOpenError(
    `This installation was exported at ${exportedAt} and may run elsewhere. If it does not, run \`errand export --undo\` to use it here again.`,
  )
}
