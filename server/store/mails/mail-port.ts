import type {
  RequestPasswordLink,
  RequestPasswordLinkResult,
  RequestSignUp,
  RequestSignUpResult,
} from '../access/people-types.ts'
import type { LeasedMail, MailOutcome, MailRecord, MailState } from './mail-types.ts'

export type MailStore = {
  /** Leases up to `limit` due mails, oldest first. Expired mails are marked as failed. */
  lease(input: { limit: number; leaseMs: number }): Promise<LeasedMail[]>
  /**
   * Stores the outcome of an attempt, unless the mail was already sent or has failed, or a later attempt has started.
   */
  end(input: Pick<LeasedMail, 'id' | 'attempt'> & { outcome: MailOutcome }): Promise<void>
  readState(): Promise<MailState>
  listNewest(limit: number): Promise<MailRecord[]>
  /** Queues mails about keys that expire soon. Returns true if there may be more keys. */
  noteExpiringKeys(): Promise<boolean>
  /** Mails a password link to the user with this email address, if there is one. Throttled like logins. */
  requestPasswordLink(input: RequestPasswordLink): Promise<RequestPasswordLinkResult>
  /**
   * Mails a sign-up link, or a note that the address already has an account. Throttled like logins, and limited per
   * day.
   */
  requestSignUp(input: RequestSignUp): Promise<RequestSignUpResult>
  /** Returns the encrypted links of unsent mails ordered by mail id, starting after `afterId`. */
  sealed(input: { afterId: string; limit: number }): Promise<{ id: string; sealed: string }[]>
  /** Stores the same link encrypted with another key, if the stored link is still `from`. */
  reseal(input: { mailId: string; from: string; to: string }): Promise<boolean>
}
