/** Expected size and hash of a stored payload, checked on each read. `sha256` is in base64url. */
export type PayloadDigest = { bytes: number; sha256: string }

/**
 * A JSON string of at most `inlineBytes`. If the JSON is larger, `text` is a preview and `payloadId` refers to the full
 * payload. `digest` is set only for a new payload, whose row is not stored yet.
 */
export type StoredJson = { text: string; payloadId: string | null; digest?: PayloadDigest }
