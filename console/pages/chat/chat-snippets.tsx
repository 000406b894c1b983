import { toCurl, toTypeScript } from '../../parts/text/snippet-text.ts'
import { SnippetTabs } from '../../parts/code/snippets.tsx'
import { draftOf } from './transcript/chat-drafts.ts'
import { serviceUrl } from '../../app/service-url.ts'

/** Code that sends the draft of the session. */
export function ChatSnippets({ sessionId }: { sessionId: string }) {
  const { text, params } = draftOf(sessionId)
  const message = text.trim() === '' ? 'Hello' : text
  const input = { sessionId, message, ...(Object.keys(params).length > 0 && { params }) }
  return <SnippetTabs curl={curlOf(input)} typeScript={typeScriptOf(input)} />
}

/** Returns a curl command without output buffering, so that events appear as they arrive. */
function curlOf(body: object): string {
  return toCurl({ method: 'POST', path: '/api/chat', body }, serviceUrl).replace(/^curl /, 'curl -N ')
}

function typeScriptOf(input: object): string {
  const code = toTypeScript({ method: 'chat.stream', input, result: 'events' }, serviceUrl)
  const [head = '', call = ''] = code.replace('\nconsole.log(events)', '').split('const events = await ')
  return [
    `${head}for await (const event of ${call.trimEnd()}) {`,
    "  if (event.type === 'assistant_delta') process.stdout.write(event.delta)",
    "  if (event.type === 'done') console.log(`\\n$${event.costUsd}`)",
    "  if (event.type === 'error') console.error(event.error.code, event.error.message)",
    '}',
    '',
  ].join('\n')
}
