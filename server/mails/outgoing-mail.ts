/** A rendered mail. `id` stays the same when the mail is sent again. */
export type OutgoingMail = { id: string; to: string; subject: string; text: string; html: string }

/** The mail server permanently rejected the mail. The message contains the reason, for the operator. */
export class MailRefusedError extends Error {}

export type MailPort = {
  /** Resolves when the server has accepted the mail. Throws a MailRefusedError if a retry would be pointless. */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<void>
}
