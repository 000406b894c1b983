export function isAccepted(mediaType: string, accepts: readonly string[]): boolean {
  const [kind] = mediaType.split('/')
  return mediaType !== '' && accepts.some((one) => one === mediaType || one === `${kind}/*` || one === '*/*')
}

const kinds: Readonly<Record<string, string>> = {
  '*/*': 'all files of a known type',
  'image/*': 'images',
  'text/*': 'text files',
  'audio/*': 'audio files',
  'video/*': 'videos',
  'text/plain': 'plain text files',
  'text/markdown': 'Markdown files',
  'audio/mpeg': 'MP3 files',
}
const list = new Intl.ListFormat('en')

/** Describes media types for readers, for example `images and PDF files`. */
export function acceptsText(accepts: readonly string[]): string {
  return list.format(new Set(accepts.map((one) => kinds[one] ?? subtypeText(one))))
}

/** Short subtypes are also the usual name of the format, such as `pdf`. */
function subtypeText(mediaType: string): string {
  const subtype = mediaType.split('/')[1] ?? ''
  return /^[a-z]\w{1,4}$/.test(subtype) ? `${subtype.toUpperCase()} files` : `files of the type ${mediaType}`
}
