import { acceptsText, isAccepted } from './accepts.ts'
import { sizeText } from '../../../parts/text/size-text.ts'

/** A file attached to the next message. `preview` is an image URL, if the browser can display the file. */
export type AttachedFile = { key: string; file: File; mediaType: string; preview: string | undefined }

type Bounds = { accepts: readonly string[]; attached: readonly AttachedFile[]; bodyBytesMax: number | undefined }

export const filesMax = 10
/** Bytes reserved for everything in the request except the files. */
const restBytes = 65_536

let count = 0

export function chooseFiles(
  files: readonly File[],
  { accepts, attached, bodyBytesMax = Infinity }: Bounds,
): { chosen: AttachedFile[]; errors: string[] } {
  const chosen: AttachedFile[] = []
  const errors: string[] = []
  let bytes = attached.reduce((sum, { file }) => sum + encodedBytes(file), restBytes)
  for (const file of files) {
    const mediaType = file.type.split(';')[0]!.trim().toLowerCase()
    const name = file.name === '' ? 'The file' : file.name
    if (!isAccepted(mediaType, accepts)) {
      errors.push(
        `${name} ${mediaType === '' ? 'has an unknown type' : 'cannot be attached'}. This agent accepts ${acceptsText(accepts)}.`,
      )
    } else if (file.size === 0) errors.push(`${name} is empty. Choose another file.`)
    else if (attached.length + chosen.length >= filesMax)
      errors.push(`${name} was not attached. A message can have at most ${filesMax} files.`)
    else if (bytes + encodedBytes(file) > bodyBytesMax) {
      const most = sizeText(Math.floor(((bodyBytesMax - restBytes) / 4) * 3))
      errors.push(`${name} is ${sizeText(file.size)}. The files in a message can total at most ${most}.`)
    } else {
      bytes += encodedBytes(file)
      const preview = mediaType.startsWith('image/') ? URL.createObjectURL(file) : undefined
      chosen.push({ key: `file-${++count}`, file, mediaType, preview })
    }
  }
  return { chosen, errors }
}

function encodedBytes({ size }: File): number {
  return Math.ceil(size / 3) * 4
}
