import { Tabs } from '@mantine/core'
import { CodeBlock } from './code-block.tsx'
import { toCurl, toTypeScript, type ClientCall, type RestRequest } from './snippet-text.ts'

/** The same request as a curl command and with the typed client, to copy. */
export function Snippets({ request, call }: { request: RestRequest; call: ClientCall }) {
  return (
    <Tabs defaultValue="curl" keepMounted={false} variant="default">
      <Tabs.List aria-label="The same from code" mb="sm">
        <Tabs.Tab value="curl">curl</Tabs.Tab>
        <Tabs.Tab value="typescript">TypeScript</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="curl" tabIndex={-1}>
        <CodeBlock code={toCurl(request, location.origin)} label="the curl command" />
      </Tabs.Panel>
      <Tabs.Panel value="typescript" tabIndex={-1}>
        <CodeBlock code={toTypeScript(call, location.origin)} label="the TypeScript code" />
      </Tabs.Panel>
    </Tabs>
  )
}
