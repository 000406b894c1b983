import { z } from 'zod'
import { isoTimestamp, maxCostUsd, pageInput, pageOutput, resourceId, usd } from '../../kernel/wire-types.ts'
import { isNetwork } from '../../outbound/network-list.ts'
import { platformScopes } from '../../store/platform/platform-records.ts'

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
    addresses: z.array(z.string()).nullable().describe('Addresses and networks that it is accepted from; null for all'),
    creditPerDayUsd: usd
      .nullable()
      .describe('What it may add to balances in a day of UTC, and take back; null without a ceiling'),
    creditedTodayUsd: usd.describe('What it has added since the day began'),
    takenTodayUsd: usd.describe('What it has taken back since the day began'),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp.nullable(),
    revokedAt: isoTimestamp.nullable(),
    lastUsedAt: isoTimestamp.nullable(),
  })
  .meta({ id: 'PlatformKey' })
export type PlatformKey = z.output<typeof PlatformKey>

export const CreatePlatformKeyInput = z.object({
  name: z.string().trim().min(1).max(100).describe('What the key is for'),
  scopes: z
    .array(PlatformScope)
    .min(1)
    .max(platformScopes.length)
    .describe(
      '`users` makes, reads and suspends users and ends their keys; `credit` adds to balances; `limits` sets limits; `act` acts for users, and makes keys for them',
    ),
  addresses: z
    .array(Network)
    .min(1)
    .max(addressesMax)
    .optional()
    .describe('IP addresses and networks that it is accepted from; from anywhere by default'),
  creditPerDayUsd: maxCostUsd
    .optional()
    .describe('What it may add to balances in a day of UTC, and take back; any amount by default'),
  expiresInDays: z.number().int().min(1).max(3650).optional().describe('Never by default'),
})

export const CreatedPlatformKey = PlatformKey.extend({
  key: z.string().describe('The platform key itself, shown this once'),
}).meta({ id: 'CreatedPlatformKey' })

export const ListPlatformKeysInput = z.object(pageInput)
export const ListPlatformKeysOutput = z.object({ keys: z.array(PlatformKey), ...pageOutput })
export const PlatformKeyInput = z.object({ keyId: resourceId })
