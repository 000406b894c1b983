import { z } from 'zod'

const uri = z.string().min(1)
const mimeType = z.string().min(1)
const base64 = z.base64()
const resource = z.union([z.looseObject({ uri, text: z.string() }), z.looseObject({ uri, blob: base64 })])
const contentBlock = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), data: base64, mimeType }),
  z.looseObject({ type: z.literal('audio'), data: base64, mimeType }),
  z.looseObject({ type: z.literal('resource'), resource }),
  z.looseObject({ type: z.literal('resource_link'), uri, name: z.string() }),
])
const blocksOnly = z.strictObject({ content: z.array(contentBlock).min(1) })

export type ContentBlock = z.infer<typeof contentBlock>

/** Returns the content blocks of a result that, like an MCP tool result, has only a `content` field. */
export function contentBlocks(resultJson: string): ContentBlock[] | undefined {
  if (!resultJson.startsWith('{"content":[{')) return undefined
  return blocksOnly.safeParse(JSON.parse(resultJson)).data?.content
}
