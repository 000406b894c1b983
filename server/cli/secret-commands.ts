import { dropOldSecrets, replaceSecret, resolveDatabaseUrl, resolveDataDir, resolveSecrets } from '../app/config.ts'
import { assertSameSecret, settleSecret } from '../store/access/secret-check.ts'
import { grantOwner, SealedSecretsError, SecretVault, type SecretOwner } from '../kernel/secret-vault.ts'
import type { Store } from '../store/store.ts'
import { print, withStore } from './open-store.ts'

type Options = { data?: string; json?: boolean; lost?: boolean }
type Counts = { reencrypted: number; unchanged: number; unreadable: string[] }

const pageRows = 200

/**
 * Re-encrypts everything with a new secret. The new secret is first added to the data directory in front of the
 * previous one, so that every row stays readable after a crash, even by a running server. Nodes that share a database
 * already have both secrets, and need only the new one afterwards. With `lost`, the previous secret is not required,
 * and data encrypted with it stays unreadable.
 */
export async function rotateSecret(options: Options): Promise<void> {
  const dataDir = resolveDataDir(options.data)
  const ownDir = resolveDatabaseUrl() === undefined ? dataDir : null
  const counts = await withStore(options, async (store) => {
    if (!options.lost) await assertSameSecret(store.settings, resolveSecrets(dataDir), ownDir)
    const secrets = replaceSecret(dataDir)
    const counted = await reencrypt(store, new SecretVault(() => secrets))
    await settleSecret(store.settings, secrets)
    return counted
  })
  const { reencrypted, unchanged, unreadable } = counts
  if (unreadable.length === 0) dropOldSecrets(dataDir)
  const lines = [
    `Re-encrypted ${reencrypted} secrets of connectors, webhooks and emails; ${unchanged} already used the current secret.`,
    ...unreadable.map((id) =>
      id.startsWith('mail_')
        ? `${id} is encrypted with an unknown secret and will not be sent. Invite the recipient again.`
        : `${id} is encrypted with an unknown secret. Its user must re-enter or rotate its secrets, or sign in again.`,
    ),
  ]
  print(options, counts, lines.join('\n'))
  if (unreadable.length > 0) process.exitCode = 1
}

type Sealed = { id: string; userId?: string; sealed: string | null; issuer?: string }
type Kind = {
  page: (of: { afterId: string; limit: number }) => Promise<Sealed[]>
  ownerOf: (row: Sealed) => SecretOwner
  reseal: (id: string, change: { from: string; to: string }) => Promise<boolean>
}

function kindsOf(store: Store): Kind[] {
  return [
    {
      page: (of) => store.sealedConnectors(of),
      ownerOf: ({ id: connectorId, userId = '' }) => ({ userId, connectorId }),
      reseal: (connectorId, change) => store.resealConnector({ connectorId, ...change }),
    },
    {
      page: async (of) => (await store.grants.sealed(of)).map((grant) => ({ ...grant, id: grant.connectorId })),
      ownerOf: ({ id: connectorId, issuer = '', userId = '' }) => grantOwner({ userId, connectorId, issuer }),
      reseal: (connectorId, change) => store.grants.reseal({ connectorId, ...change }),
    },
    {
      page: (of) => store.webhooks.sealed(of),
      ownerOf: ({ id: webhookId, userId = '' }) => ({ userId, webhookId }),
      reseal: (webhookId, change) => store.webhooks.reseal({ webhookId, ...change }),
    },
    {
      page: (of) => store.mails.sealed(of),
      ownerOf: ({ id: mailId }) => ({ mailId }),
      reseal: (mailId, change) => store.mails.reseal({ mailId, ...change }),
    },
  ]
}

async function reencrypt(store: Store, vault: SecretVault): Promise<Counts> {
  const counts: Counts = { reencrypted: 0, unchanged: 0, unreadable: [] }
  for (const kind of kindsOf(store)) await reencryptAll(kind, vault, counts)
  return counts
}

async function reencryptAll({ ownerOf, page, reseal }: Kind, vault: SecretVault, counts: Counts): Promise<void> {
  let afterId = ''
  for (;;) {
    const rows = await page({ afterId, limit: pageRows })
    for (const row of rows) {
      const { id, sealed } = row
      afterId = id
      if (sealed === null) continue
      if (vault.isCurrent(sealed)) {
        counts.unchanged += 1
        continue
      }
      try {
        const owner = ownerOf(row)
        const to = vault.seal(vault.open(sealed, owner), owner)
        // If the user changed the row in the meantime, it already uses the new secret, because a server reads the
        // secret before each encryption.
        if (await reseal(id, { from: sealed, to })) counts.reencrypted += 1
      } catch (error) {
        if (!(error instanceof SealedSecretsError)) throw error
        counts.unreadable.push(id)
      }
    }
    if (rows.length < pageRows) return
  }
}
