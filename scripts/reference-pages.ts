import { errorsPage } from './errors-page.ts'
import { settingsPage } from './settings-page.ts'

/** The pages of docs/reference that the code writes, and what it writes. */
export const referencePages: readonly { file: URL; write: () => string }[] = [
  { file: new URL('../docs/reference/settings.md', import.meta.url), write: settingsPage },
  { file: new URL('../docs/reference/errors.md', import.meta.url), write: errorsPage },
]
