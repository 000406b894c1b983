export const mediaTypePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/

/** An entry in a chat's `accepts`: a media type, or a wildcard such as image/*. */
export const acceptPattern = /^(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,63})\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,63})$/

export function isAccepted(mediaType: string, accepts: readonly string[]): boolean {
  const [kind] = mediaType.split('/')
  return accepts.some((accepted) => accepted === mediaType || accepted === `${kind}/*` || accepted === '*/*')
}

/** Whether every model accepts the file as plain text. */
export function isTextType(mediaType: string): boolean {
  return mediaType.startsWith('text/') || mediaType === 'application/json' || mediaType === 'application/xml'
}

export function isImageType(mediaType: string): boolean {
  return mediaType.startsWith('image/')
}
