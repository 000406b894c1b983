import { toCurl, toTypeScript, type ClientCall, type RestRequest } from '../../parts/text/snippet-text.ts'

export type AdminRequest = RestRequest & { idempotencyKey?: string }

type Caller = { baseUrl: string; email: string }

const keyHeader = '-H "Authorization: Bearer $ERRAND_API_KEY"'
const jar = 'errand.cookies'

/** Generates curl commands that log in first, because admin operations reject API keys. */
export function toAdminCurl({ idempotencyKey, ...request }: AdminRequest, { baseUrl, email }: Caller): string {
  const headers = { ...request.headers, ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }) }
  const cookie = `-b ${jar}${request.method === 'GET' ? '' : ` -H 'Origin: ${baseUrl}'`}`
  return [
    '# API keys cannot call admin endpoints. Log in as an admin first.',
    `curl -c ${jar} '${baseUrl}/api/login' \\`,
    `  -H 'Origin: ${baseUrl}' \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"email":${JSON.stringify(email).replaceAll("'", String.raw`'\''`)},"password":"'"$ERRAND_PASSWORD"'"}'`,
    toCurl({ ...request, headers }, baseUrl).replace(keyHeader, () => cookie),
  ].join('\n')
}

export function toAdminTypeScript(
  { idempotencyKey, ...call }: ClientCall & { idempotencyKey?: string },
  { baseUrl, email }: Caller,
): string {
  const print = `console.log(${call.result})`
  const plain = toTypeScript(call, baseUrl).replace(`\n${print}`, '').trimEnd()
  const begin = plain.indexOf(`const ${call.result} = await`)
  const line = plain.slice(begin)
  return [
    "import { createClient } from 'errand-client'",
    '',
    '// API keys cannot call admin endpoints. Log in as an admin first.',
    `const origin = '${baseUrl}'`,
    'const login = await fetch(`${origin}/api/login`, {',
    "  method: 'POST',",
    "  headers: { origin, 'Content-Type': 'application/json' },",
    `  body: JSON.stringify({ email: ${JSON.stringify(email)}, password: process.env.ERRAND_PASSWORD }),`,
    '})',
    "const cookie = login.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ')",
    'const client = createClient({',
    '  baseUrl: origin,',
    '  apiKey: null,',
    '  fetch: (url, { headers, ...init }) =>',
    '    fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(headers)), cookie, origin } }),',
    '})',
    idempotencyKey === undefined ? line : `${line.slice(0, -1)}, { idempotencyKey: '${idempotencyKey}' })`,
    print,
    '',
  ].join('\n')
}
