import { readImage } from './image-size.ts'
import { isImageType, isTextType } from './media-types.ts'

/** About how many tokens a model counts a file as, and at most, which is held before it is called. */
export type FileTokens = { tokens: number; tokensMax: number }

/** What a file is counted as at most; by its pixels or bytes where it is undefined. */
export type FileBounds = { imageTokensMax: number | undefined; documentTokensMax: number | undefined }

/** A patch of 16 by 16 pixels is the smallest that providers count as a token; above this they scale images down. */
const pixelsPerToken = 256
const imageTokensMost = 16_384
/** What providers count for an image of any size. */
const imageTokensLeast = 1024
const bytesPerToken = 4

export function fileTokens(
  { content, mediaType }: { content: Buffer; mediaType: string },
  { documentTokensMax, imageTokensMax }: FileBounds,
): FileTokens {
  if (isImageType(mediaType)) {
    const tokens = imageTokensMax ?? byPixels(content)
    return { tokens, tokensMax: tokens }
  }
  const { length: bytes } = content
  // A text is what it is; of a document its provider may make more or less than its bytes say.
  const most = isTextType(mediaType) ? Infinity : (documentTokensMax ?? Infinity)
  return { tokens: Math.min(most, Math.ceil(bytes / bytesPerToken)), tokensMax: Math.min(most, bytes) }
}

function byPixels(content: Buffer): number {
  const size = readImage(content)?.image
  const tokens = size ? Math.ceil((size.width * size.height) / pixelsPerToken) : imageTokensMost
  return Math.min(imageTokensMost, Math.max(imageTokensLeast, tokens))
}

export function sumTokens(files: readonly FileTokens[]): FileTokens {
  const sum = { tokens: 0, tokensMax: 0 }
  for (const { tokens, tokensMax } of files) {
    sum.tokens += tokens
    sum.tokensMax += tokensMax
  }
  return sum
}
