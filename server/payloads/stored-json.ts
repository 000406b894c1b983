/** Size and hash of a stored payload, both checked on each read. `sha256` is encoded as base64url. */
export type PayloadDigest = { bytes: number; sha256: string }

/**
 * JSON as stored in a row. If it exceeds `inlineBytes`, `text` is a preview and `payloadId` refers to the full
 * payload. `digest` is set only for a new payload whose row is not inserted yet.
 */
export type StoredJson = { text: string; payloadId: string | null; digest?: PayloadDigest }
