export type RestRequest = { method: string; path: string; body?: unknown; headers?: Record<string, string> }
export type ClientCall = {
  method: string
  input?: unknown
  idempotencyKey?: string
  result: string
}

/** The environment variable from which the generated code reads the key. */
export type KeyVariable = 'ERRAND_API_KEY' | 'ERRAND_PLATFORM_KEY'

/** Generates a curl command for any POSIX shell. */
export function toCurl(
  { method, path, body, headers = {} }: RestRequest,
  baseUrl: string,
  key: KeyVariable = 'ERRAND_API_KEY',
): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quote(baseUrl + path)}`]
  // Use double quotes, so that the shell expands the variable.
  lines.push(`-H "Authorization: Bearer $${key}"`)
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined)
    lines.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body, null, 2))}`)
  return lines.join(' \\\n  ')
}

/** Quotes a string for the shell. Inside single quotes, only the single quote is special. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

export function toTypeScript(
  { method, input, idempotencyKey, result }: ClientCall,
  baseUrl: string,
  key: KeyVariable = 'ERRAND_API_KEY',
): string {
  const options = idempotencyKey === undefined ? undefined : { idempotencyKey }
  const args = [input, options].filter((value) => value !== undefined).map((value) => toLiteral(value))
  return [
    "import { createClient } from 'errand-client'",
    '',
    `const client = createClient({ baseUrl: ${toLiteral(baseUrl)}, apiKey: process.env.${key}! })`,
    `const ${result} = await client.${method}(${args.join(', ')})`,
    `console.log(${result})`,
    '',
  ].join('\n')
}

function toLiteral(value: unknown, indent = ''): string {
  if (typeof value === 'string') {
    return `'${JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)}'`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((item) => toLiteral(item, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => `${toKey(key)}: ${toLiteral(item, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (parts.length === 0) return open + close
  const line = Array.isArray(value) ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`
  if (line.length <= 80 && !line.includes('\n')) return line
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

function toKey(key: string): string {
  // The literal key `__proto__` would set the prototype.
  if (key === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : toLiteral(key)
}
