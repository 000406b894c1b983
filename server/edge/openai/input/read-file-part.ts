import { Filename, type FilePart } from '../../../chat/chat-schema.ts'
import { badParam, unsupported } from '../wire-error.ts'

export type ReadFile = { part: FilePart; params: { part: string; data: string; filename: string } }

type Item = Record<string, unknown>
type Named = { part: Item; at: string }

const readers: Record<string, (of: Named) => ReadFile> = {
  image_url: ({ at, part: { image_url: image } }) => {
    const param = `${at}.image_url`
    return isObject(image)
      ? fileOf({ at: `${param}.url`, url: image['url'] }, { at })
      : fileOf({ at: param, url: image }, { at })
  },
  input_image: ({ at, part }) => {
    assertNoId(part, at)
    return fileOf({ at: `${at}.image_url`, url: part['image_url'] }, { at })
  },
  file: ({ at, part: { file } }) => {
    if (!isObject(file)) throw badParam(`${at}.file`, 'Must be an object')
    return documentOf(file, { at, within: `${at}.file` })
  },
  input_file: ({ at, part }) => documentOf(part, { at, within: at }),
}

export function isFileType(type: unknown): boolean {
  return typeof type === 'string' && Object.hasOwn(readers, type)
}

/** Throws 400 for a file id or URL, because only inline files are supported. */
export function readFilePart(part: Item, at: string): ReadFile {
  return readers[part['type'] as string]!({ part, at })
}

function documentOf(file: Item, { at, within }: { at: string; within: string }): ReadFile {
  assertNoId(file, within)
  if (isGiven(file['file_url'])) throw notFetched(`${within}.file_url`)
  const { filename } = file
  const name = `${within}.filename`
  if (isGiven(filename)) {
    const parsed = Filename.safeParse(filename)
    if (!parsed.success) throw badParam(name, parsed.error.issues[0]!.message)
  }
  return fileOf(
    { at: `${within}.file_data`, url: file['file_data'] },
    { at, name, ...(isGiven(filename) && { filename: filename as string }) },
  )
}

type Whole = { at: string; name?: string; filename?: string }

function fileOf({ at, url }: { at: string; url: unknown }, { at: part, filename, name = part }: Whole): ReadFile {
  if (typeof url !== 'string') throw badParam(at, `Must be ${dataUrl}`)
  if (/^https?:/i.test(url)) throw notFetched(at)
  // The header of a data URL is short, so search only the start.
  const comma = url.slice(0, headCharsMax).indexOf(',')
  const [scheme, ...options] = url.slice(0, Math.max(0, comma)).split(/[:;]/)
  const [mediaType = ''] = options
  if (scheme?.toLowerCase() !== 'data' || options.length < 2 || options.at(-1)?.trim().toLowerCase() !== 'base64') {
    throw badParam(at, `Must be ${dataUrl}`)
  }
  return {
    part: { type: 'file', mediaType, data: url.slice(comma + 1), ...(filename !== undefined && { filename }) },
    params: { part, data: at, filename: name },
  }
}

const headCharsMax = 400
const dataUrl = 'a base64 data: URL, such as "data:image/png;base64,…"'

function assertNoId(of: Item, at: string): void {
  if (isGiven(of['file_id'])) {
    throw badParam(`${at}.file_id`, `Must not be a file id. Send ${dataUrl}`, unsupported)
  }
}

function notFetched(at: string) {
  return badParam(at, `Must not be a remote URL. Send ${dataUrl}`, unsupported)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

export function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
