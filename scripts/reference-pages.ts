import { clientTypesFile } from './client-types-file.ts'
import { errorsPage } from './errors-page.ts'
import { settingsPage } from './settings-page.ts'

/** Generated files and their generators: the client's types and the pages of docs/reference. */
export const referencePages: readonly { file: URL; write: () => string }[] = [
  { file: new URL('../client/types/api-types.ts', import.meta.url), write: clientTypesFile },
  { file: new URL('../docs/reference/settings.md', import.meta.url), write: settingsPage },
  { file: new URL('../docs/reference/errors.md', import.meta.url), write: errorsPage },
]
