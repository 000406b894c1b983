import { Tabs, Text } from '@mantine/core'
import { CodeBlock } from './code-block.tsx'
import { PageLink } from './page-link.tsx'
import { toCurl, toTypeScript, type ClientCall, type RestRequest } from './text/snippet-text.ts'
import { serviceUrl } from '../app/service-url.ts'

export function Snippets({ request, call }: { request: RestRequest; call: ClientCall }) {
  return <SnippetTabs curl={toCurl(request, serviceUrl)} typeScript={toTypeScript(call, serviceUrl)} />
}

/** Like `Snippets`, for code that the caller generates. */
export function SnippetTabs({ curl, typeScript }: { curl: string; typeScript: string }) {
  return (
    <>
      <Tabs defaultValue="curl" keepMounted={false} variant="default">
        <Tabs.List aria-label="Code examples" mb="sm">
          <Tabs.Tab value="curl">curl</Tabs.Tab>
          <Tabs.Tab value="typescript">TypeScript</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="curl" tabIndex={-1}>
          <CodeBlock code={curl} label="curl command" />
        </Tabs.Panel>
        <Tabs.Panel value="typescript" tabIndex={-1}>
          <CodeBlock code={typeScript} label="TypeScript code" />
        </Tabs.Panel>
      </Tabs>
      {curl.includes('ERRAND_API_KEY') && (
        <Text size="sm" c="dimmed" mt={6}>
          Set <code>ERRAND_API_KEY</code> to{' '}
          <PageLink href="/settings/keys" inherit underline="always">
            one of your API keys
          </PageLink>
          .
        </Text>
      )}
    </>
  )
}
