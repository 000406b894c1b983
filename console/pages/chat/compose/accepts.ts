export function isAccepted(mediaType: string, accepts: readonly string[]): boolean {
  const [kind] = mediaType.split('/')
  return mediaType !== '' && accepts.some((one) => one === mediaType || one === `${kind}/*` || one === '*/*')
}
