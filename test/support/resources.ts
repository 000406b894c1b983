import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Resources that tests have started and not yet stopped. */
export const openResources = new Set<string>()

const folders = new Set<string>()

/** Creates a folder that is removed after the test file at the latest, even if a test failed. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `errand-${name}-`))
  folders.add(folder)
  return folder
}

export function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}
