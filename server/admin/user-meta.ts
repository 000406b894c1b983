import type { RestMeta } from '../procedures/procedure.ts'
import type { PlatformScope } from '../store/platform/platform-types.ts'

// Constants and helpers for describing the user operations.

export const bodyErrors = { 400: 'The body is invalid.', 413: 'The body is too large.', 415: 'The body is not JSON.' }
const adminOnly = { 403: 'The caller is not an admin with a browser login.' }
export const platformToo = (scope: PlatformScope) => ({
  403: `The caller is neither an admin with a browser login nor a platform key with the scope \`${scope}\`.`,
})
export const unknown = { 404: 'The user was not found.' }

export function meta(
  own: Pick<
    RestMeta,
    'method' | 'path' | 'operationId' | 'summary' | 'description' | 'successDescription' | 'errorResponses'
  >,
) {
  return { ...own, tags: ['Users'], protect: true, errorResponses: { ...adminOnly, ...own.errorResponses } }
}
