import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Names of what tests have started and not yet stopped. */
export const openResources = new Set<string>()

const folders = new Set<string>()

/** A new folder, which goes with its test file at the latest, also when a test failed. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `errand-${name}-`))
  folders.add(folder)
  return folder
}

/** Removes the folders that are still there. */
export function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}
