/** A parameter of a `WWW-Authenticate` header; null when it has none. */
export function challengeParameter(challenge: string, name: string): string | null {
  const [, quoted, plain] =
    new RegExp(`[\\s,]${name}=(?:"([^"]{0,2000})"|([^\\s,"]{1,2000}))`, 'i').exec(challenge) ?? []
  return quoted ?? plain ?? null
}

/** The scope that a refusal says a token would need (RFC 6750), empty where it does not say; null for another refusal. */
export function scopeNeeded({ headers, status }: Response): string | null {
  const challenge = headers.get('www-authenticate') ?? ''
  if (status !== 403 || challengeParameter(challenge, 'error') !== 'insufficient_scope') return null
  return challengeParameter(challenge, 'scope') ?? ''
}
