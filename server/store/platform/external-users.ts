import { ErrandError } from '../../kernel/errors.ts'
import { usersPerPlatformKeyMax } from '../limits/account-bounds.ts'
import type { ActingUser, ExternalUser, ExternalUserResult, UserRef } from './platform-types.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { holderColumns, withHolder, type HolderRow } from '../access/credential-holder.ts'
import { statement } from '../commands/statement.ts'
import { createUser } from '../accounts/stored-users.ts'
import { countUser } from './stored-platform-keys.ts'

type Row = { id: string } & HolderRow

const from = `SELECT users.id, ${holderColumns} FROM users JOIN accounts ON accounts.user_id = users.id`
const byId = statement<Row>('external_user_by_id', `${from} WHERE users.id = :userId`)
const byExternalId = statement<Row>(
  'external_user_by_external_id',
  `${from} WHERE external_id = :externalId AND external_id IS NOT NULL`,
)

export function findActingUser(on: Reads, of: UserRef): Answer<ActingUser | undefined> {
  const found = 'userId' in of ? on.get(byId, of) : on.get(byExternalId, of)
  return found.map((user) => user && withHolder(user))
}

/** The lock ensures that concurrent first requests create only one user. */
export function* openExternalUser(tx: Tx, { email, externalId, keyId }: ExternalUser): Op<ExternalUserResult> {
  yield* tx.lock('external-id', externalId)
  const known = yield* findActingUser(tx, { externalId })
  if (known) return { outcome: 'found', userId: known.id }
  const made = yield* createUser(tx, { email, passwordHash: null, isAdmin: false, externalId })
  if (made.outcome === 'created' && keyId !== null && !(yield* countUser(tx, keyId))) {
    const message = `This platform key has created ${usersPerPlatformKeyMax} users, the maximum. Use another platform key.`
    throw new ErrandError('CONFLICT', message)
  }
  return made
}
