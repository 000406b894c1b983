import { Tabs } from '@mantine/core'
import { CodeBlock } from '../../parts/code-block.tsx'
import { toCurl, toTypeScript } from '../../parts/snippet-text.ts'
import type { ChatParams } from './chat-drafts.ts'

type ChatSnippetsProps = { sessionId: string; message: string; params: ChatParams }

/** How to send the message that stands in the box from code, and read its reply as it comes. */
export function ChatSnippets({ message, params, sessionId }: ChatSnippetsProps) {
  const input = { sessionId, message, ...(Object.keys(params).length > 0 && { params }) }
  return (
    <Tabs defaultValue="curl" keepMounted={false} variant="default">
      <Tabs.List aria-label="The same from code" mb="sm">
        <Tabs.Tab value="curl">curl</Tabs.Tab>
        <Tabs.Tab value="typescript">TypeScript</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="curl" tabIndex={-1}>
        <CodeBlock code={curlOf(input)} label="the curl command" />
      </Tabs.Panel>
      <Tabs.Panel value="typescript" tabIndex={-1}>
        <CodeBlock code={typeScriptOf(input)} label="the TypeScript code" />
      </Tabs.Panel>
    </Tabs>
  )
}

/** Without its buffer, curl shows the events as they come. */
function curlOf(body: object): string {
  return toCurl({ method: 'POST', path: '/api/chat', body }, location.origin).replace(/^curl /, 'curl -N ')
}

function typeScriptOf(input: object): string {
  const code = toTypeScript({ method: 'chat.stream', input, result: 'events' }, location.origin)
  const [head = '', call = ''] = code.split('const events = await ')
  return [
    `${head}for await (const event of ${call.trimEnd()}) {`,
    "  if (event.type === 'assistant_delta') process.stdout.write(event.delta)",
    "  if (event.type === 'done') console.log(`\\n$${event.costUsd}`)",
    "  if (event.type === 'error') console.error(event.error.code, event.error.message)",
    '}',
    '',
  ].join('\n')
}
