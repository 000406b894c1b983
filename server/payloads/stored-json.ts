/** Expected size and hash of a stored payload, checked on read. The SHA-256 is base64url. */
export type PayloadDigest = { bytes: number; sha256: string }

/**
 * JSON string of at most `inlineBytes`. If it is larger, `text` is a preview and `payloadId` names the full payload. Its
 * `digest` is passed along when it is stored.
 */
export type StoredJson = { text: string; payloadId: string | null; digest?: PayloadDigest }
