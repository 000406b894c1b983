import { readImage } from './image-size.ts'
import { isImageType, isTextType } from './media-types.ts'
import { countPages } from './pdf-pages.ts'

/** Estimated tokens of a file, and the maximum that is held for it; null if only the agent's context bounds it. */
export type FileTokens = { tokens: number; tokensMax: number | null }

/** Totals of files. `unboundedTokens` is the estimate of those without a maximum; undefined if there are none. */
export type FileSum = { tokens: number; boundedMax: number; unboundedTokens: number | undefined }

/** The operator's own maximums per file, if any. */
export type FileBounds = { imageTokensMax: number | undefined; documentTokensMax: number | undefined }

/** A patch of 16 by 16 pixels is the smallest that providers count as a token; above this they scale images down. */
const pixelsPerToken = 256
const imageTokensMost = 16_384
/** What providers count for an image of any size. */
const imageTokensLeast = 1024
const bytesPerToken = 4
/** Text and picture of a page of a PDF, which providers send both. */
const tokensPerPage = 2000

/** Estimated tokens of a file by its content alone: an agent may have a maximum of its own. */
export function contentTokens({ content, mediaType }: { content: Buffer; mediaType: string }): number {
  if (isImageType(mediaType)) return byPixels(content)
  const pages = mediaType === 'application/pdf' ? countPages(content) : 0
  return pages > 0 ? pages * tokensPerPage : textTokens(content.length)
}

/** As `contentTokens`, for a text. */
export function textTokens(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken)
}

/** A file without its content. `estimate` is what `contentTokens` makes of that. */
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
 * The file with the maximum that its agent sets for documents today. Without one a document has none: compression hides its
 * text, so neither bytes nor the pages that it shows bound what a provider makes of it.
 */
export function boundNow<File extends Pick<FileTokens, 'tokensMax'> & { mediaType: string }>(
  file: File,
  { documentTokensMax }: Pick<FileBounds, 'documentTokensMax'>,
): File {
  const isDocument = !isImageType(file.mediaType) && !isTextType(file.mediaType)
  return isDocument ? { ...file, tokensMax: documentTokensMax ?? null } : file
}

function byPixels(content: Buffer): number {
  const size = readImage(content)?.image
  const tokens = size ? Math.ceil((size.width * size.height) / pixelsPerToken) : imageTokensMost
  return Math.min(imageTokensMost, Math.max(imageTokensLeast, tokens))
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
 * Maximum tokens of the files of a prompt. Those without a bound share what the rest of the prompt leaves of the context.
 *
 * @param promptTokens the estimate of the whole prompt, with its files
 */
export function filesAtMost(
  { boundedMax, unboundedTokens }: FileSum,
  { contextTokens, promptTokens }: { contextTokens: number; promptTokens: number },
): number {
  if (unboundedTokens === undefined) return boundedMax
  return boundedMax + Math.max(unboundedTokens, contextTokens - (promptTokens - unboundedTokens))
}
