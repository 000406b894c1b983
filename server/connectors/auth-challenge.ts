export function challengeParameter(challenge: string, name: string): string | null {
  const [, quoted, plain] =
    new RegExp(`[\\s,]${name}=(?:"([^"]{0,2000})"|([^\\s,"]{1,2000}))`, 'i').exec(challenge) ?? []
  return quoted ?? plain ?? null
}

/**
 * Returns the scope required by an `insufficient_scope` error (RFC 6750), or an empty string if the response names
 * none. Returns null for all other responses.
 */
export function scopeNeeded({ headers, status }: Response): string | null {
  const challenge = headers.get('www-authenticate') ?? ''
  if (status !== 403 || challengeParameter(challenge, 'error') !== 'insufficient_scope') return null
  return challengeParameter(challenge, 'scope') ?? ''
}
