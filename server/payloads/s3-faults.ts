import type { PayloadBucket } from './payload-bucket.ts'

type Thrown = Error & { $metadata?: { httpStatusCode?: number }; code?: unknown }

export function isMissing(error: unknown): boolean {
  return error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NotFound')
}

/** Whether the requested range begins at or after the end of the object. In an empty object, every range does. */
export function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && error.name === 'InvalidRange'
}

/** Copies an error without the data that the SDK attaches: the request, its signature and the access key id. */
export function plainFault(error: unknown): Error {
  return new Error(`The bucket request failed: ${describeFault(error)}`)
}

export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { $metadata, code, message, name } = error as Thrown
  const status = $metadata?.httpStatusCode
  const text = message.replaceAll(/\s+/g, ' ').slice(0, 200)
  const kind = name === 'Error' && typeof code === 'string' ? code : name
  const parts = text === '' || text === 'UnknownError' || text.includes(kind) ? [text] : [kind, text]
  const what = parts.filter((part) => part !== '' && part !== 'UnknownError').join(': ') || kind
  return status === undefined ? what : `${what.replace(/\.$/, '')} (HTTP ${status})`
}

export function adviceFor(error: unknown, { credentials }: PayloadBucket): string {
  const name = error instanceof Error ? error.name : ''
  if (name === 'CredentialsProviderError') {
    return ' Set ERRAND_PAYLOADS_S3_ACCESS_KEY_ID and ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY.'
  }
  if (name === 'InvalidAccessKeyId' || name === 'SignatureDoesNotMatch') {
    return credentials
      ? ' Check ERRAND_PAYLOADS_S3_ACCESS_KEY_ID and ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY.'
      : ' Check the credentials in the environment.'
  }
  if (
    name === 'PermanentRedirect' ||
    name === 'AuthorizationHeaderMalformed' ||
    describeFault(error).includes('Region')
  ) {
    return ' Check ERRAND_PAYLOADS_S3_REGION.'
  }
  return ''
}
