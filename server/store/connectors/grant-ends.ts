import type { ConnectorOf } from './connector-types.ts'
import type { Op, Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

const ofConnector = 'connector_id = :connectorId AND user_id = :userId'

const remove = statement('grant_delete', `DELETE FROM connector_grants WHERE ${ofConnector}`)
const removeSignIns = statement('sign_in_delete_all', `DELETE FROM connector_sign_ins WHERE ${ofConnector}`)
const purge = statement(
  'sign_in_purge',
  ({ skipLocked }) => `DELETE FROM connector_sign_ins WHERE state_hash IN
    (SELECT state_hash FROM connector_sign_ins WHERE expires_at <= :until LIMIT :rowsMax ${skipLocked})`,
)

/** Deletes a connector's tokens and pending sign-ins. The caller must have locked the account. */
export function* removeGrant(tx: Tx, of: ConnectorOf): Op<void> {
  yield* tx.run(remove, of)
  yield* endSignIns(tx, of)
}

/** Ends a connector's pending sign-ins. They can no longer be completed. */
export function* endSignIns(tx: Tx, of: ConnectorOf): Op<void> {
  yield* tx.run(removeSignIns, of)
}

export function* purgeSignIns(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: yield* tx.now(), rowsMax })
}
