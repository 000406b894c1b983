/** Messages for the codes in `/login?error=<code>`. The service redirects there after a failed single sign-on. */
const messages: Readonly<Record<string, string>> = {
  'oidc-failed': 'Login with the provider failed. Try again.',
  'oidc-refused': 'The provider denied access. Try again, or contact an admin.',
  'email-unverified': 'Your email address is not verified with the provider. Verify it there and try again.',
  'sign-up-closed': 'You have no account here yet. Ask an admin for an invitation.',
  'domain-refused': 'Email addresses from this domain cannot log in here. Contact an admin.',
  'email-taken':
    'The account with this email address is linked to a different login at the provider. Contact an admin.',
  suspended: 'This account is suspended. Contact an admin.',
  expired: 'Login timed out. Try again.',
}

export function loginErrorOf(search: string): string | undefined {
  const code = new URLSearchParams(search).get('error')
  if (code === null) return undefined
  return Object.hasOwn(messages, code) ? messages[code] : 'Login failed. Try again.'
}
