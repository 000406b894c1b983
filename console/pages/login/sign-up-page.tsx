import { client } from '../../app/api-client.ts'
import { RequestLinkPage } from './request-link-page.tsx'

export function SignUpPage() {
  return (
    <RequestLinkPage
      title="Create an account"
      lead="We will email you a link to confirm your address."
      sent="We sent an email to this address. Its link works once, for a day."
      send={(input) => client.invitations.requestSignUp(input)}
    />
  )
}
