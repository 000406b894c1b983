/** Token response fields that the service does not read. Some servers send invalid values in them. */
const unread = new Set(['id_token'])

/**
 * Normalizes a response from a token or registration endpoint. Some servers send form-encoded data instead of JSON, an
 * error with status 200, or a challenge along with the error. Others send null for absent fields, or omit the expiry of
 * a client secret that never expires.
 */
export async function standardAnswer(answer: Response, expectedStatus: 200 | 201): Promise<Response> {
  const text = await answer.text()
  const type = answer.headers.get('content-type') ?? ''
  const fields = /form-urlencoded/i.test(type) ? Object.fromEntries(new URLSearchParams(text)) : parse(text)
  if (!fields) return new Response(text, { status: answer.status, headers: { 'content-type': type } })
  const known = Object.entries(fields).filter(([name, value]) => value !== null && !unread.has(name))
  const isError = typeof fields['error'] === 'string'
  const status = answer.ok ? (isError ? 400 : expectedStatus) : answer.status
  const endless = expectedStatus === 201 ? { client_secret_expires_at: 0 } : {}
  return Response.json({ ...endless, ...Object.fromEntries(known) }, { status })
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
