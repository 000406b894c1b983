/** A rendered email. Retries send the same `id`. */
export type OutgoingMail = { id: string; to: string; subject: string; text: string; html: string }

/** Thrown if the mail server permanently rejects the email. The message tells the operator why. */
export class MailRefusedError extends Error {}

export type MailPort = {
  /** Resolves when the server has accepted the email. Throws a MailRefusedError if a retry is pointless. */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<void>
}
