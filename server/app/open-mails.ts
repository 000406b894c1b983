import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import { defaultName, type Brand } from '../http/files/brand.ts'
import type { SecretVault } from '../kernel/secret-vault.ts'
import { MailSender } from '../mails/mail-sender.ts'
import type { MailSettings } from '../mails/mail-settings.ts'
import { sendsMail } from '../store/mails/mail-types.ts'
import type { Store } from '../store/store.ts'

type MailParts = {
  baseUrl: () => string
  brand: Brand | undefined
  clock: Clock
  log: Logger
  store: Store
  vault: SecretVault
}

/**
 * Records in the store whether the service sends email, and creates the sender. Loads the SMTP client only if needed.
 */
export async function openMails(
  settings: MailSettings | undefined,
  { brand, store, ...parts }: MailParts,
): Promise<MailSender | undefined> {
  const value = settings ? 'yes' : 'no'
  if ((await store.settings.agree(sendsMail, value)) !== value) await store.settings.replace(sendsMail, value)
  if (!settings) return undefined
  const { openSmtp } = await import('../mails/smtp-port.ts')
  return new MailSender({
    ...parts,
    port: openSmtp(settings),
    settings,
    name: brand?.name ?? (settings.from.name || defaultName),
    support: brand?.support,
    store: store.mails,
  })
}
