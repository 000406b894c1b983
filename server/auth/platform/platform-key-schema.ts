import { z } from 'zod'
import { isoTimestamp, maxCostUsd, pageInput, pageOutput, resourceId, usd } from '../../kernel/wire-types.ts'
import { isNetwork } from '../../outbound/network-list.ts'
import { ClientToken } from '../client-tokens/client-token-schema.ts'
import { platformScopes } from '../../store/platform/platform-types.ts'

const PlatformScope = z.enum(platformScopes)
const addressesMax = 50

const Network = z
  .string()
  .max(60)
  .refine(isNetwork, 'Must be an IP address or a network, such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32')

export const PlatformKey = z
  .object({
    id: z.string(),
    name: z.string(),
    hint: z.string().describe("The key's last four characters"),
    scopes: z.array(PlatformScope),
    addresses: z
      .array(z.string())
      .nullable()
      .describe('IP addresses and networks allowed to use the key; null for all'),
    creditPerDayUsd: usd
      .nullable()
      .describe('Maximum credit per UTC day. The same limit applies separately to taking credit back. Null for none'),
    creditedTodayUsd: usd.describe('Amount credited in the current UTC day'),
    takenTodayUsd: usd.describe('Amount taken back in the current UTC day'),
    usersCreated: z.number().int().describe('Number of users that the key has created'),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp.nullable(),
    revokedAt: isoTimestamp.nullable(),
    lastUsedAt: isoTimestamp.nullable(),
  })
  .meta({ id: 'PlatformKey' })
export type PlatformKey = z.output<typeof PlatformKey>

export const PlatformKeyDetails = PlatformKey.extend({
  lastAddresses: z
    .array(z.object({ address: z.string(), lastUsedAt: isoTimestamp }))
    .describe('The last 10 IP addresses from which the key was used, newest first'),
  creditDays: z
    .array(
      z.object({
        date: z.string().meta({ format: 'date', description: 'UTC day' }),
        creditedUsd: usd,
        takenUsd: usd,
      }),
    )
    .describe('The last 30 UTC days, including today, oldest first'),
  clientTokens: z
    .array(ClientToken)
    .describe('The newest 100 active client tokens that the key has created, newest first'),
  clientTokensTotal: z.number().int().describe('Number of active client tokens that the key has created'),
}).meta({ id: 'PlatformKeyDetails' })
export type PlatformKeyDetails = z.output<typeof PlatformKeyDetails>

export const CreatePlatformKeyInput = z.object({
  name: z.string().trim().min(1).max(100).describe('What the key is for'),
  scopes: z
    .array(PlatformScope)
    .min(1)
    .max(platformScopes.length)
    .describe(
      '`users`: create, read and suspend users and revoke their keys; `credit`: credit balances; `limits`: set plans, and limits up to those of the plan; `act`: act on behalf of users and create keys for them; `pay`: with `act`, also start top-ups and change auto-recharge; `connectors`: with `act`, also change connectors; `webhooks`: manage the webhooks that receive the events of all users; `economics`: read revenue, provider cost and margin',
    ),
  addresses: z
    .array(Network)
    .min(1)
    .max(addressesMax)
    .optional()
    .describe('IP addresses and networks allowed to use the key; all by default'),
  creditPerDayUsd: maxCostUsd
    .optional()
    .describe('Maximum credit per UTC day. The same limit applies separately to taking credit back. None by default'),
  expiresInDays: z.number().int().min(1).max(3650).optional().describe('Days until the key expires; never by default'),
})

export const CreatedPlatformKey = PlatformKey.extend({
  key: z.string().describe('The platform key itself, shown only once'),
}).meta({ id: 'CreatedPlatformKey' })

export const ListPlatformKeysInput = z.object(pageInput)
export const ListPlatformKeysOutput = z.object({ keys: z.array(PlatformKey), ...pageOutput })
export const PlatformKeyInput = z.object({ keyId: resourceId })
export const KeyTokenInput = z.object({ keyId: resourceId, tokenId: resourceId })
