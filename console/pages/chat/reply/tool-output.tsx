import { JsonTree } from '../../../parts/json-tree.tsx'
import { PlainText } from './reply-text.tsx'
import classes from './tool-output.module.css'

type Content = { kind: 'text'; text: string } | { kind: 'image'; source: string } | { kind: 'other'; value: unknown }

const imageType = /^image\/(?:png|jpeg|gif|webp)$/
const textCharsMax = 20_000

/** Shows MCP content as paragraphs and pictures, and other outputs as JSON. */
export function ToolOutput({ name, output }: { name: string; output: Record<string, unknown> }) {
  const what = `output of ${name}`
  const { content } = output
  if (!Array.isArray(content) || content.length === 0) return <JsonTree value={output} what={what} />
  return (
    <div className={classes.output} role="group" aria-label={what}>
      {content.map(contentOf).map((part, index) => {
        // The output of a tool never changes.
        // oxlint-disable-next-line react/no-array-index-key
        return <Part key={index} part={part} what={what} />
      })}
    </div>
  )
}

function Part({ part, what }: { part: Content; what: string }) {
  if (part.kind === 'text') return <PlainText text={part.text} />
  if (part.kind === 'image') return <img className={classes.image} src={part.source} alt={`Part of the ${what}`} />
  return <JsonTree value={part.value} what={`part of the ${what}`} />
}

function contentOf(value: unknown): Content {
  const { data, mimeType, text, type } = Object(value) as Record<string, unknown>
  if (type === 'text' && typeof text === 'string') {
    const isCut = text.length > textCharsMax
    return { kind: 'text', text: isCut ? `${text.slice(0, textCharsMax).toWellFormed()}…` : text }
  }
  if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string' && imageType.test(mimeType)) {
    return { kind: 'image', source: `data:${mimeType};base64,${data}` }
  }
  return { kind: 'other', value }
}
