import { client } from '../../app/api-client.ts'
import { RequestLinkPage } from './request-link-page.tsx'

export function SignUpPage() {
  return (
    <RequestLinkPage
      title="Create an account"
      lead="We will email you a link to confirm your address."
      sent="We sent a link to this email address. The link works once and expires after a day."
      send={(input) => client.invitations.requestSignUp(input)}
    />
  )
}
