import type { PlatformStore } from './platform-types.ts'
import { recorded } from '../audit/audit-commands.ts'
import type { Engine } from '../commands/command.ts'
import * as tokens from './client-token-commands.ts'
import * as users from './external-users.ts'
import * as keys from './stored-platform-keys.ts'

export function platformStore(engine: Engine): PlatformStore {
  return {
    createKey: (input) =>
      engine.run(
        recorded(
          (tx) => keys.createPlatformKey(tx, input),
          ({ id, scopes }) => ({ action: 'platform_key.created', change: { platformKeyId: id, scopes } }),
        ),
      ),
    findKey: engine.holderOf('platform-keys', keys.findPlatformKey),
    getKey: (keyId) => engine.read((on) => keys.getPlatformKey(on, keyId)),
    readCreditDays: (of) => engine.read((on) => keys.readCreditDays(on, of), of.keyId),
    listKeys: (page) => engine.read((on) => keys.listPlatformKeys(on, page)),
    revokeKey: (keyId) =>
      engine.run(
        recorded(
          (tx) => keys.revokePlatformKey(tx, keyId),
          (isRevoked) => isRevoked && { action: 'platform_key.revoked', change: { platformKeyId: keyId } },
        ),
      ),
    touchKeys: (uses) => engine.run((tx) => keys.touchPlatformKeys(tx, uses)),
    async openUser(input) {
      const known = await engine.read((on) => users.findActingUser(on, { externalId: input.externalId }))
      if (known) return { outcome: 'found', userId: known.id }
      return await engine.run(
        recorded(
          (tx) => users.openExternalUser(tx, input),
          (opened) => opened.outcome === 'created' && { action: 'user.created', userId: opened.userId },
        ),
      )
    },
    findUser: (of) => engine.read((on) => users.findActingUser(on, of)),
    createToken: (input) => engine.run((tx) => tokens.createClientToken(tx, input), input),
    findToken: engine.holderOf('client-tokens', tokens.findClientToken),
    listTokens: (of) => engine.read((on) => tokens.listClientTokens(on, of), of.userId),
    listKeyTokens: (of) => engine.read((on) => tokens.listKeyTokens(on, of)),
    revokeToken: (of) => engine.run((tx) => tokens.revokeClientToken(tx, of), { userId: of.userId }),
    revokeKeyToken: (of) => engine.run((tx) => tokens.revokeKeyToken(tx, of)),
  }
}
