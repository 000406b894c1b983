import { readImage } from './image-size.ts'
import { isImageType } from './media-types.ts'
import { countPages } from './pdf-pages.ts'

/**
 * Pixels per token: 16 by 16, the smallest patch that any provider counts. Providers scale down large images, so no
 * image exceeds `imageTokensMost` tokens.
 */
const pixelsPerToken = 256
const imageTokensMost = 16_384
/** Providers count at least this many tokens for an image, however small it is. */
const imageTokensLeast = 1024
const bytesPerToken = 4
/** Estimate for one PDF page. Providers send both the text and an image of the page to the model. */
const tokensPerPage = 2000

/** Estimates the tokens of a file from its content. Ignores the agent's own limits on tokens per file. */
export function contentTokens({ content, mediaType }: { content: Buffer; mediaType: string }): number {
  if (isImageType(mediaType)) return byPixels(content)
  const pages = mediaType === 'application/pdf' ? countPages(content) : 0
  return pages > 0 ? pages * tokensPerPage : textTokens(content.length)
}

export function textTokens(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken)
}

function byPixels(content: Buffer): number {
  const size = readImage(content)?.image
  const tokens = size ? Math.ceil((size.width * size.height) / pixelsPerToken) : imageTokensMost
  return Math.min(imageTokensMost, Math.max(imageTokensLeast, tokens))
}
