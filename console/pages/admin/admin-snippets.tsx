import { Tabs } from '@mantine/core'
import { useAccount } from '../../app/use-account.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import type { ClientCall } from '../../parts/snippet-text.ts'
import { toAdminCurl, toAdminTypeScript, type AdminRequest } from './admin-snippet-text.ts'
import classes from './admin.module.css'

type AdminSnippetsProps = { request: AdminRequest; call: ClientCall }

/** An operation of admins as curl commands and with the typed client; both log in, because keys are refused. */
export function AdminSnippets({ request, call }: AdminSnippetsProps) {
  const { data: account } = useAccount()
  const { idempotencyKey } = request
  const caller = { baseUrl: location.origin, email: account?.email ?? '' }
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List aria-label="The same from code" mb="sm">
        <Tabs.Tab value="curl">curl</Tabs.Tab>
        <Tabs.Tab value="typescript">TypeScript</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="curl" tabIndex={-1}>
        <CodeBlock code={toAdminCurl(request, caller)} label="the curl commands" />
      </Tabs.Panel>
      <Tabs.Panel value="typescript" tabIndex={-1}>
        <CodeBlock
          code={toAdminTypeScript({ ...call, ...(idempotencyKey !== undefined && { idempotencyKey }) }, caller)}
          label="the TypeScript code"
        />
      </Tabs.Panel>
    </Tabs>
  )
}

/** Folded away until somebody asks, for forms and parts of a page. */
export function FoldedAdminSnippets({ summary, ...props }: AdminSnippetsProps & { summary: string }) {
  return (
    <details className={classes.more}>
      <summary>{summary}</summary>
      <AdminSnippets {...props} />
    </details>
  )
}
