import { watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { projectFiles } from '../agents/config/project-modules.ts'

/** Time after the last change until the files are read, because editors write several. */
const quietMs = 200

/** Calls `reload` after a module of the configuration has changed. */
export function watchProject(reload: () => Promise<unknown>): void {
  const watched = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const watchFolders = () => {
    for (const folder of new Set([...projectFiles].map((file) => dirname(file)))) {
      if (watched.has(folder)) continue
      watched.add(folder)
      watch(folder, { persistent: false }, (_, name) => {
        // A log or the output of an agent in the same folder must not cause a reload.
        if (name === null || !(/\.[cm]?[jt]s$/.test(name) || projectFiles.has(join(folder, name)))) return
        clearTimeout(timer)
        timer = setTimeout(reloadNow, quietMs).unref()
      }).on('error', () => {})
    }
  }
  const reloadNow = () => {
    // The reload logs why it failed. The next change starts another one.
    reload()
      .catch(() => {})
      .finally(watchFolders)
  }
  watchFolders()
}
