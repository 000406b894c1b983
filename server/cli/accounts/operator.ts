import { unlimited, type Caller } from '../../procedures/caller.ts'
import { SystemClock } from '../../kernel/clock.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { scopes } from '../../store/access/key-types.ts'
import type { Store } from '../../store/store.ts'
import { withStore } from '../open-store.ts'

/** The command line has all permissions, because anyone who can write to the database can do everything anyway. */
export const operator: Caller = {
  ...unlimited,
  userId: 'operator',
  email: '',
  isAdmin: true,
  scopes,
  credential: { kind: 'operator' },
}

/** Logs nothing, because the terminal already shows the command's result. */
const log = { debug() {}, info() {}, warn() {}, error() {} }

export type Parts = { store: Store; clock: SystemClock; log: typeof log }

export function withParts<Result>(
  options: { data?: string; mayCreate?: boolean },
  work: (parts: Parts) => Promise<Result>,
): Promise<Result> {
  return withStore(options, (store) => work({ store, clock: new SystemClock(), log }))
}

export async function findUserId({ store }: Parts, { user }: { user: string }): Promise<string> {
  if (await store.getUser(user)) return user
  const byEmail = await store.findUser(user)
  const byExternalId = await store.platform.findUser({ externalId: user })
  const id = (byEmail ?? byExternalId)?.id
  if (id === undefined) {
    throw new ErrandError(
      'NOT_FOUND',
      `--user: no user has the id, email address or external id "${user}". Run \`errand users list\`.`,
    )
  }
  if (byExternalId && byExternalId.id !== id) {
    const message = `--user: "${user}" is the email address of ${id} and the external id of ${byExternalId.id}. Pass one of these ids.`
    throw new ErrandError('CONFLICT', message)
  }
  return id
}
