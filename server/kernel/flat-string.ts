/**
 * The same string in one piece. V8 keeps a concatenated string as a tree of its parts until one of its characters is read,
 * and each garbage collection copies the whole tree.
 */
export function flatString(text: string): string {
  // Without a use of the character the compiler removes the read.
  return text.charCodeAt(0) === 0 ? text.slice() : text
}
