import type { Connector } from '../../../../client/client.ts'
import { fieldErrors } from '../../../parts/field-errors.ts'

export type AuthType = Connector['auth']['type']
export type HeaderRow = { id: number; name: string; value: string }

export type ConnectorDraft = {
  name: string
  url: string
  /** Id of one of the operator's servers. Empty for a connector with a URL. */
  server: string
  authType: AuthType
  token: string
  headers: readonly HeaderRow[]
  /** Client id registered with the authorization server. Empty if there is none. */
  clientId: string
  clientSecret: string
}

export type ConnectorAuth =
  | { type: 'none' }
  | { type: 'bearer'; token: string }
  | { type: 'headers'; headers: Record<string, string> }
  | { type: 'oauth'; clientId?: string; clientSecret?: string }

/** Errors by field name. For a header, the field name contains the id of its row. */
export type DraftErrors = Readonly<Record<string, string | undefined>>

const ofSecrets = ['token', 'clientId', 'clientSecret'] as const
let rows = 0

export function newHeaderRow(): HeaderRow {
  return { id: ++rows, name: '', value: '' }
}

export function newDraft(): ConnectorDraft {
  return {
    name: '',
    url: '',
    server: '',
    authType: 'none',
    token: '',
    headers: [newHeaderRow()],
    clientId: '',
    clientSecret: '',
  }
}

/** Returns the form state of an existing connector. Secrets are empty, because the service never returns them. */
export function draftOf({ name, url, server, auth }: Connector): ConnectorDraft {
  return { ...newDraft(), name, url: url ?? '', server: server ?? '', authType: auth.type }
}

/** Returns the authentication to send, or undefined if the stored secrets stay unchanged. */
export function authOf(draft: ConnectorDraft, kept?: AuthType): ConnectorAuth | undefined {
  const { authType, token } = draft
  if (authType === 'none') return kept === 'none' ? undefined : { type: 'none' }
  if (authType === kept && isWithoutSecrets(draft)) return undefined
  if (authType === 'bearer') return { type: 'bearer', token }
  if (authType === 'oauth') return { type: 'oauth', ...clientOf(draft) }
  const given = givenHeaders(draft).map(({ name, value }) => [name.trim(), value] as const)
  return { type: 'headers', headers: Object.fromEntries(given) }
}

export function checkDraft(
  draft: ConnectorDraft,
  { kept, isByUrl }: { kept?: AuthType; isByUrl: boolean },
): DraftErrors {
  const { name, url, server, authType, token } = draft
  const errors: Record<string, string> = {}
  if (name.trim() === '') errors['name'] = 'Enter a name'
  if (isByUrl && url.trim() === '') errors['url'] = 'Enter the server URL'
  if (!isByUrl && server === '') errors['server'] = 'Choose a server'
  if (authType === kept && isWithoutSecrets(draft)) return errors
  if (authType === 'bearer' && token === '') errors['token'] = 'Enter the token'
  const { clientId, clientSecret } = draft
  if (authType === 'oauth' && clientSecret !== '' && clientId.trim() === '') errors['clientId'] = 'Enter the client ID'
  if (authType !== 'headers') return errors
  const given = givenHeaders(draft)
  for (const row of given.length > 0 ? given : draft.headers.slice(0, 1)) {
    if (row.name.trim() === '') errors[`name-${row.id}`] = 'Enter the name'
    else if (given.some(({ id, name: other }) => id < row.id && sameHeader(other, row.name))) {
      errors[`name-${row.id}`] = 'Duplicate name'
    }
    if (row.value === '') errors[`value-${row.id}`] = 'Enter the value'
  }
  return errors
}

/** Assigns the service's errors to form fields. `rest` is true if some errors belong to no field. */
export function draftErrors(error: unknown, { headers }: ConnectorDraft): { fields: DraftErrors; rest: boolean } {
  const ofRows = headers.map(({ id, name }) => [`auth.headers.${name.trim()}`, `value-${id}`] as const)
  const names = [
    ...ofRows.map(([path]) => path),
    'name',
    'url',
    'server',
    ...ofSecrets.map((field) => `auth.${field}`),
    'auth',
  ]
  const { fields, rest } = fieldErrors(error, names)
  const byRow = ofRows.map(([path, field]) => [field, fields[path]] as const)
  const bySecret = ofSecrets.map((field) => [field, fields[`auth.${field}`]] as const)
  return { fields: { ...fields, ...Object.fromEntries([...bySecret, ...byRow]) }, rest: rest !== undefined }
}

export function fieldsOf({ headers = [], ...changes }: Partial<ConnectorDraft>): string[] {
  return [...Object.keys(changes), ...headers.flatMap(({ id }) => [`name-${id}`, `value-${id}`])]
}

function givenHeaders({ headers }: ConnectorDraft): readonly HeaderRow[] {
  return headers.filter(({ name, value }) => name.trim() !== '' || value !== '')
}

function isWithoutSecrets(draft: ConnectorDraft): boolean {
  return ofSecrets.every((field) => draft[field] === '') && givenHeaders(draft).length === 0
}

function clientOf({ clientId, clientSecret }: ConnectorDraft): { clientId?: string; clientSecret?: string } {
  const id = clientId.trim()
  return { ...(id !== '' && { clientId: id }), ...(clientSecret !== '' && { clientSecret }) }
}

function sameHeader(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase()
}
