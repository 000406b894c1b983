import { client } from '../../app/api-client.ts'
import { RequestLinkPage } from './request-link-page.tsx'

export function ForgotPasswordPage() {
  return (
    <RequestLinkPage
      title="Forgot password"
      lead="We will email you a link to choose a new password."
      sent="If an account with a password uses this email address, we sent a link to it. The link works once and expires after an hour."
      send={(input) => client.invitations.requestPasswordReset(input)}
    />
  )
}
