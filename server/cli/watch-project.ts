import { watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { projectFiles } from '../agents/config/project-modules.ts'

/** Delay between the last change and the reload, because editors write several files. */
const quietMs = 200

export function watchProject(reload: () => Promise<unknown>): void {
  const watched = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const watchFolders = () => {
    for (const folder of new Set([...projectFiles].map((file) => dirname(file)))) {
      if (watched.has(folder)) continue
      watched.add(folder)
      watch(folder, { persistent: false }, (_, name) => {
        if (name === null || !(/\.[cm]?[jt]s$/.test(name) || projectFiles.has(join(folder, name)))) return
        clearTimeout(timer)
        timer = setTimeout(reloadNow, quietMs).unref()
      }).on('error', () => {})
    }
  }
  const reloadNow = () => {
    // The reload has already logged the failure, and the next change starts another one.
    reload()
      .catch(() => {})
      .finally(watchFolders)
  }
  watchFolders()
}
