/** Messages for the codes of a failed provider login, `/login?error=<code>`. */
const messages: Readonly<Record<string, string>> = {
  'oidc-failed': 'The login at the provider did not work. Try again.',
  'oidc-refused': 'The provider did not let you in.',
  'email-unverified': 'The provider has not verified your email address. Verify it there and try again.',
  'sign-up-closed': 'There is no account for you here yet. Ask the operator for an invitation.',
  'domain-refused': 'Email addresses of this domain may not log in here.',
  'email-taken': 'Another login at the provider belongs to the account of this email address. Ask the operator.',
  suspended: 'This account is suspended. Ask the operator why.',
  expired: 'The login took too long. Try again.',
}

/** Returns the message for the code in the URL; undefined without one. */
export function loginErrorOf(search: string): string | undefined {
  const code = new URLSearchParams(search).get('error')
  if (code === null) return undefined
  return Object.hasOwn(messages, code) ? messages[code] : 'The login did not work. Try again.'
}
