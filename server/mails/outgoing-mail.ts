/** A mail, ready to send. `id` identifies it when it is sent again. */
export type OutgoingMail = { id: string; to: string; subject: string; text: string; html: string }

/** The server refuses the mail for good. The message is the reason, for the operator. */
export class MailRefusedError extends Error {}

export type MailPort = {
  /** Resolves when the server has accepted the mail. Throws a MailRefusedError if a retry is pointless. */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<void>
}
