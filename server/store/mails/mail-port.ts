import type { RequestPasswordLink, RequestPasswordLinkResult } from '../access/people-types.ts'
import type { LeasedMail, MailOutcome, MailState } from './mail-types.ts'

export type MailStore = {
  /** Leases up to `limit` due mails, oldest first. Expired mails are marked as failed. */
  lease(input: { limit: number; leaseMs: number }): Promise<LeasedMail[]>
  /** Stores the outcome of an attempt, unless the mail has ended or a later attempt has started. */
  end(input: Pick<LeasedMail, 'id' | 'attempt'> & { outcome: MailOutcome }): Promise<void>
  readState(): Promise<MailState>
  /** Queues mails about some keys that expire soon. Returns true if there may be more keys. */
  noteExpiringKeys(): Promise<boolean>
  /** Mails a password link to the user with this email address, if there is one. Throttled like logins. */
  requestPasswordLink(input: RequestPasswordLink): Promise<RequestPasswordLinkResult>
}
