import { isImageType, isTextType } from './media-types.ts'

/**
 * Estimated and maximum token counts of a file. The cost of the maximum is reserved. `tokensMax` is null if only the
 * agent's context size limits the file's tokens.
 */
export type FileTokens = { tokens: number; tokensMax: number | null }

/**
 * Token totals of several files. `unboundedTokens` is the estimate for the files without a maximum, or undefined if
 * there are none.
 */
export type FileSum = { tokens: number; boundedMax: number; unboundedTokens: number | undefined }

export type FileBounds = { imageTokensMax: number | undefined; documentTokensMax: number | undefined }

/** A file without its content. `estimate` is the result of `contentTokens`. */
export type MeasuredFile = { bytes: number; estimate: number; mediaType: string }

export function fileTokens({ bytes, estimate, mediaType }: MeasuredFile, bounds: FileBounds): FileTokens {
  if (isImageType(mediaType)) {
    const tokens = bounds.imageTokensMax ?? estimate
    return { tokens, tokensMax: tokens }
  }
  if (isTextType(mediaType)) return { tokens: estimate, tokensMax: bytes }
  const { tokensMax } = boundNow({ mediaType, tokensMax: null }, bounds)
  return { tokens: Math.min(estimate, tokensMax ?? Infinity), tokensMax }
}

/**
 * Applies the agent's current document limit to a file. Without a limit, a document's token count is unbounded. Its
 * text is compressed, so neither its size nor its page count bounds the number of tokens.
 */
export function boundNow<File extends Pick<FileTokens, 'tokensMax'> & { mediaType: string }>(
  file: File,
  { documentTokensMax }: Pick<FileBounds, 'documentTokensMax'>,
): File {
  const isDocument = !isImageType(file.mediaType) && !isTextType(file.mediaType)
  return isDocument ? { ...file, tokensMax: documentTokensMax ?? null } : file
}

export function sumTokens(files: readonly FileTokens[]): FileSum {
  const sum: FileSum = { tokens: 0, boundedMax: 0, unboundedTokens: undefined }
  for (const { tokens, tokensMax } of files) {
    sum.tokens += tokens
    if (tokensMax === null) sum.unboundedTokens = (sum.unboundedTokens ?? 0) + tokens
    else sum.boundedMax += tokensMax
  }
  return sum
}

/**
 * Returns the maximum token count of the files in a prompt. Files without a maximum share the context that the rest of
 * the prompt leaves free.
 *
 * @param promptTokens the estimate for the whole prompt, including its files
 */
export function filesAtMost(
  { boundedMax, unboundedTokens }: FileSum,
  { contextTokens, promptTokens }: { contextTokens: number; promptTokens: number },
): number {
  if (unboundedTokens === undefined) return boundedMax
  return boundedMax + Math.max(unboundedTokens, contextTokens - (promptTokens - unboundedTokens))
}
