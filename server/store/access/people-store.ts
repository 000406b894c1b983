import type { Store } from '../store.ts'
import { formatUsd, type Units } from '../../kernel/money.ts'
import { auditStore, recorded } from '../audit/audit-commands.ts'
import type { Engine } from '../commands/command.ts'
import * as connectors from '../connectors/connector-commands.ts'
import { grantStore } from '../connectors/grant-commands.ts'
import * as invitations from './invitation-commands.ts'
import * as keys from './stored-keys.ts'
import * as people from './people-commands.ts'
import * as logins from './login-commands.ts'
import type { Newcomer } from './people-types.ts'
import { platformStore } from '../platform/platform-store.ts'
import { erasureStore } from '../erasure/erase-user.ts'
import { findOwner } from '../accounts/find-owner.ts'
import * as users from '../accounts/stored-users.ts'

const newcomerFacts = (newcomer: Newcomer | undefined, { credit = 0 }: { credit?: Units }) =>
  newcomer ? { plan: newcomer.plan, creditUsd: formatUsd(credit) } : {}

export function peopleStore(engine: Engine) {
  return {
    audit: auditStore(engine),
    erasure: erasureStore(engine),
    platform: platformStore(engine),
    createUser: (input) =>
      engine.run(
        recorded(
          (tx) => users.createUser(tx, input),
          (made) =>
            made.outcome === 'created' && {
              action: 'user.created',
              userId: made.userId,
              change: { isAdmin: input.isAdmin },
            },
        ),
      ),
    findUser: (email) => engine.read((on) => users.findUser(on, email)),
    getUser: (userId) => engine.read((on) => users.getUser(on, userId)),
    findOwner: (id) => engine.read((on) => findOwner(on, id)),
    listUsers: (input) => engine.read((on) => users.listUsers(on, input)),
    updateUser: (input) => {
      const { isAdmin, isSuspended, userId } = input
      return engine.run(
        recorded(
          (tx) => people.changeUser(tx, input),
          ({ outcome }) =>
            outcome === 'updated' && { action: 'user.updated', userId, change: { isAdmin, isSuspended } },
        ),
      )
    },
    setPassword: (input) =>
      engine.run(
        recorded(
          (tx) => people.changePassword(tx, input),
          (isSet) => isSet && { action: 'password.changed', userId: input.userId },
        ),
      ),
    createKey: (input) =>
      engine.run(
        recorded(
          (tx) => keys.createKey(tx, input),
          ({ id, scopes, userId }) => ({ action: 'key.created', userId, change: { keyId: id, scopes } }),
        ),
        input,
      ),
    findKey: engine.holderOf('keys', keys.findKey),
    listKeys: (input) => engine.read((on) => keys.listKeys(on, input), input.userId),
    getKey: (input) => engine.read((on) => keys.getKey(on, input)),
    updateKey: (input) => keys.updateKey(engine, input),
    revokeKey: ({ keyId, userId }) =>
      engine.run(
        recorded(
          (tx) => keys.revokeKey(tx, { keyId, userId }),
          (isRevoked) => isRevoked && { action: 'key.revoked', userId, change: { keyId } },
        ),
      ),
    rotateKey: (input) =>
      engine.run(
        recorded(
          (tx) => keys.rotateKey(tx, input),
          (key) =>
            key && { action: 'key.rotated', userId: input.userId, change: { keyId: input.keyId, newKeyId: key.id } },
        ),
      ),
    touchKeys: (uses) => engine.run((tx) => keys.touchKeys(tx, uses)),
    admitLogin: (input) => engine.run((tx) => people.admitLogin(tx, input)),
    createLogin: (input) =>
      engine.run(
        recorded(
          (tx) => people.createLogin(tx, input),
          (login) =>
            login && {
              action: 'login.created',
              userId: login.userId,
              change: { loginId: login.id, method: input.method },
            },
        ),
      ),
    findLogin: engine.holderOf('logins', logins.findLogin),
    listLogins: (input) => engine.read((on) => logins.listLogins(on, input), input.userId),
    endLogin: (input) =>
      engine.run(
        recorded(
          (tx) => logins.endLogin(tx, input),
          (isEnded) => isEnded && { action: 'login.ended', userId: input.userId, change: { loginId: input.loginId } },
        ),
      ),
    endLogins: (userId) =>
      engine.run(
        recorded(
          (tx) => logins.endLogins(tx, userId, null),
          (count) => count > 0 && { action: 'login.ended', userId, change: { count } },
        ),
      ),
    touchLogins: (uses) => engine.run((tx) => logins.touchLogins(tx, uses)),
    openIdentity: (input) =>
      engine.run(
        recorded(
          (tx) => people.openIdentity(tx, input),
          (opened) =>
            (opened.outcome === 'created' && {
              action: 'user.created',
              userId: opened.userId,
              change: newcomerFacts(input.newcomer, opened),
            }) ||
            (opened.outcome === 'linked' && { action: 'identity.linked', userId: opened.userId }),
        ),
      ),
    createInvitation: ({ isAdmin, kind, userId, ...input }) =>
      engine.run(
        recorded(
          (tx) => people.createInvitation(tx, { isAdmin, kind, userId, ...input }),
          (made) =>
            made.outcome === 'created' && {
              action: 'invitation.created',
              userId,
              change: { invitationId: made.invitation.id, kind, isAdmin, creditUsd: formatUsd(input.credit) },
            },
        ),
      ),
    findInvitation: (tokenHash) => engine.read((on) => invitations.findInvitation(on, tokenHash)),
    listInvitations: (input) => engine.read((on) => invitations.listInvitations(on, input)),
    revokeInvitation: (invitationId) =>
      engine.run(
        recorded(
          (tx) => invitations.revokeInvitation(tx, invitationId),
          (isRevoked) => isRevoked && { action: 'invitation.revoked', change: { invitationId } },
        ),
      ),
    acceptInvitation: (input) =>
      engine.run(
        recorded(
          (tx) => people.acceptInvitation(tx, input),
          (made) =>
            made.outcome === 'accepted' && {
              action: 'invitation.accepted',
              userId: made.userId,
              change: { kind: made.kind, ...(made.kind === 'sign-up' && newcomerFacts(input.newcomer, made)) },
            },
        ),
      ),
    grants: grantStore(engine),
    createConnector: (input) =>
      engine.run(
        recorded(
          (tx) => connectors.createConnector(tx, input),
          ({ outcome }) =>
            outcome === 'created' && {
              action: 'connector.created',
              userId: input.userId,
              change: { connectorId: input.connectorId, authType: input.authType },
            },
        ),
      ),
    getConnector: (input) => engine.read((on) => connectors.getConnector(on, input)),
    listConnectors: (input) => engine.read((on) => connectors.listConnectors(on, input), input.userId),
    updateConnector: (input) => {
      const { changes, connectorId, userId } = input
      return engine.run(
        recorded(
          (tx) => connectors.updateConnector(tx, input),
          ({ outcome }) =>
            outcome === 'updated' && {
              action: 'connector.updated',
              userId,
              change: { connectorId, fields: Object.keys(changes) },
            },
        ),
      )
    },
    deleteConnector: ({ connectorId, userId }) =>
      engine.run(
        recorded(
          (tx) => connectors.deleteConnector(tx, { connectorId, userId }),
          (isDeleted) => isDeleted && { action: 'connector.deleted', userId, change: { connectorId } },
        ),
      ),
    noteConnectorCheck: (input) => engine.run((tx) => connectors.noteConnectorCheck(tx, input)),
    sealedConnectors: (input) => engine.read((on) => connectors.sealedConnectors(on, input)),
    resealConnector: (input) => engine.run((tx) => connectors.resealConnector(tx, input)),
  } satisfies Partial<Store>
}
