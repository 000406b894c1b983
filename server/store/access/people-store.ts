import type { Store } from '../store.ts'
import type { Engine } from '../commands/command.ts'
import * as connectors from '../connectors/connector-commands.ts'
import { grantStore } from '../connectors/grant-commands.ts'
import * as invitations from './invitation-commands.ts'
import * as keys from './stored-keys.ts'
import * as people from './people-commands.ts'
import * as logins from './login-commands.ts'
import { platformStore } from '../platform/platform-store.ts'
import { findOwner } from '../accounts/find-owner.ts'
import * as users from '../accounts/stored-users.ts'

export function peopleStore(engine: Engine) {
  return {
    platform: platformStore(engine),
    createUser: (input) => engine.run((tx) => users.createUser(tx, input)),
    findUser: (email) => engine.read((on) => users.findUser(on, email)),
    getUser: (userId) => engine.read((on) => users.getUser(on, userId)),
    findOwner: (id) => engine.read((on) => findOwner(on, id)),
    listUsers: (input) => engine.read((on) => users.listUsers(on, input)),
    updateUser: (input) => engine.run((tx) => people.changeUser(tx, input)),
    setPassword: (input) => engine.run((tx) => people.changePassword(tx, input)),
    createKey: (input) => engine.run((tx) => keys.createKey(tx, input), input),
    findKey: engine.holderOf('keys', keys.findKey),
    listKeys: (input) => engine.read((on) => keys.listKeys(on, input), input.userId),
    getKey: (input) => engine.read((on) => keys.getKey(on, input)),
    updateKey: (input) => keys.updateKey(engine, input),
    revokeKey: (input) => engine.run((tx) => keys.revokeKey(tx, input)),
    rotateKey: (input) => engine.run((tx) => keys.rotateKey(tx, input)),
    touchKeys: (uses) => engine.run((tx) => keys.touchKeys(tx, uses)),
    admitLogin: (input) => engine.run((tx) => people.admitLogin(tx, input)),
    createLogin: (input) => engine.run((tx) => people.createLogin(tx, input)),
    findLogin: engine.holderOf('logins', logins.findLogin),
    listLogins: (input) => engine.read((on) => logins.listLogins(on, input), input.userId),
    endLogin: (input) => engine.run((tx) => logins.endLogin(tx, input)),
    endLogins: (userId) => engine.run((tx) => logins.endLogins(tx, userId, null)),
    touchLogins: (uses) => engine.run((tx) => logins.touchLogins(tx, uses)),
    openIdentity: (input) => engine.run((tx) => people.openIdentity(tx, input)),
    createInvitation: (input) => engine.run((tx) => people.createInvitation(tx, input)),
    findInvitation: (tokenHash) => engine.read((on) => invitations.findInvitation(on, tokenHash)),
    listInvitations: (input) => engine.read((on) => invitations.listInvitations(on, input)),
    revokeInvitation: (invitationId) => engine.run((tx) => invitations.revokeInvitation(tx, invitationId)),
    acceptInvitation: (input) => engine.run((tx) => people.acceptInvitation(tx, input)),
    grants: grantStore(engine),
    createConnector: (input) => engine.run((tx) => connectors.createConnector(tx, input)),
    getConnector: (input) => engine.read((on) => connectors.getConnector(on, input)),
    listConnectors: (input) => engine.read((on) => connectors.listConnectors(on, input), input.userId),
    updateConnector: (input) => engine.run((tx) => connectors.updateConnector(tx, input)),
    deleteConnector: (input) => engine.run((tx) => connectors.deleteConnector(tx, input)),
    noteConnectorCheck: (input) => engine.run((tx) => connectors.noteConnectorCheck(tx, input)),
    sealedConnectors: (input) => engine.read((on) => connectors.sealedConnectors(on, input)),
    resealConnector: (input) => engine.run((tx) => connectors.resealConnector(tx, input)),
  } satisfies Partial<Store>
}
