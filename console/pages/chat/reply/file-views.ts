import type { Message } from '../../../../client/client.ts'
import type { AttachedFile } from '../compose/attached-files.ts'
import type { ShownFile } from './message-files.tsx'

export function shownOf({ file, key, preview }: AttachedFile): ShownFile {
  return { key, name: file.name, bytes: file.size, image: preview, href: undefined }
}

export function filesOf({ parts = [] }: Message): ShownFile[] {
  return parts.flatMap((part, index) => {
    if (part.type !== 'file') return []
    const { bytes, filename, mediaType, url } = part
    const href = ownAddress(url)
    const image = mediaType.startsWith('image/') ? href : undefined
    return [{ key: `${index}`, name: filename ?? mediaType, bytes, image, href }]
  })
}

/** Removes the host from a URL, because the service may have a different host name in this browser. */
function ownAddress(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
