import { Box, Tabs, Text } from '@mantine/core'
import { serviceUrl } from '../../app/service-url.ts'
import { Disclosure } from '../disclosure.tsx'
import { PageLink } from '../page-link.tsx'
import { toCurl, toTypeScript, type ClientCall, type KeyVariable, type RestRequest } from '../text/snippet-text.ts'
import { CodeBlock } from './code-block.tsx'

type SnippetsProps = {
  request: RestRequest
  call: ClientCall
  /** Uses a platform key, which some admin operations accept. */
  isForPlatform?: boolean
}

export function Snippets({ request, call, isForPlatform = false }: SnippetsProps) {
  const key: KeyVariable = isForPlatform ? 'ERRAND_PLATFORM_KEY' : 'ERRAND_API_KEY'
  return <SnippetTabs curl={toCurl(request, serviceUrl, key)} typeScript={toTypeScript(call, serviceUrl, key)} />
}

/** Collapsed snippets for the end of a form. */
export function FoldedSnippets(props: SnippetsProps) {
  return (
    <Box mt="xs">
      <Disclosure label="Show code">{() => <Snippets {...props} />}</Disclosure>
    </Box>
  )
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
      {curl.includes('$ERRAND_API_KEY') && (
        <KeyHint variable="ERRAND_API_KEY" href="/settings/keys" keys="one of your API keys" />
      )}
      {curl.includes('$ERRAND_PLATFORM_KEY') && (
        <KeyHint variable="ERRAND_PLATFORM_KEY" href="/admin/platform-keys" keys="a platform key" />
      )}
    </>
  )
}

function KeyHint({ variable, href, keys }: { variable: KeyVariable; href: string; keys: string }) {
  return (
    <Text size="sm" c="dimmed" mt={6}>
      Set <code>{variable}</code> to{' '}
      <PageLink href={href} inherit underline="always">
        {keys}
      </PageLink>
      .
    </Text>
  )
}

export function ShortenedNote() {
  return (
    <Text size="sm" c="dimmed">
      Long strings are truncated.
    </Text>
  )
}
