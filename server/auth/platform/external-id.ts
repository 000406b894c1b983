import { z } from 'zod'

const charsMax = 200
// Invisible characters, which could make different ids look the same: control and format characters, other characters
// without a glyph, lone surrogates and line breaks.
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

/** Returns why an external id is invalid, or undefined for a valid one. Ids are compared exactly, including case. */
export function flawOfExternalId(text: string): string | undefined {
  if (text.length === 0 || text.length > charsMax) return `Must be 1 to ${charsMax} characters`
  if (unseen.test(text)) return 'Must not contain control or invisible characters'
  if (text !== text.trim()) return 'Must not start or end with a space'
  if (text !== text.normalize('NFC')) return 'Must be in Unicode normalization form NFC'
  // Clients remove these segments from a URL path before they send it.
  if (text === '.' || text === '..') return 'Must not be "." or ".."'
  return undefined
}

export const ExternalId = z
  .string()
  .superRefine((text, ctx) => {
    const flaw = flawOfExternalId(text)
    if (flaw !== undefined) ctx.addIssue(flaw)
  })
  .meta({
    description:
      "The product's own id for the user: 1 to 200 characters in Unicode form NFC, without control or invisible characters. Case-sensitive",
    override: { type: 'string', minLength: 1, maxLength: charsMax },
  })
