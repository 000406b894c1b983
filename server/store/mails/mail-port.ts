import type { RequestPasswordLink, RequestPasswordLinkResult } from '../access/people-types.ts'
import type { LeasedMail, MailOutcome, MailState } from './mail-types.ts'

export type MailStore = {
  /** Leases up to `limit` due mails, oldest first. Gives up expired ones. */
  lease(input: { limit: number; leaseMs: number }): Promise<LeasedMail[]>
  /** Stores the outcome, unless the mail has ended or a later attempt has started. */
  end(input: Pick<LeasedMail, 'id' | 'attempt'> & { outcome: MailOutcome }): Promise<void>
  readState(): Promise<MailState>
  /** Records mails about a bounded number of keys that expire soon. Returns true if there may be more. */
  noteExpiringKeys(): Promise<boolean>
  /** Mails a password link to the user of an email address, if there is one. Throttled like logins. */
  requestPasswordLink(input: RequestPasswordLink): Promise<RequestPasswordLinkResult>
}
