import { useAccount } from '../../app/use-account.ts'
import type { ClientCall } from '../../parts/text/snippet-text.ts'
import { SnippetTabs } from '../../parts/snippets.tsx'
import { toAdminCurl, toAdminTypeScript, type AdminRequest } from './admin-snippet-text.ts'
import classes from './admin.module.css'
import { serviceUrl } from '../../app/service-url.ts'

type AdminSnippetsProps = { request: AdminRequest; call: ClientCall }

/**
 * Shows an admin operation as curl commands and as code for the typed client. Both log in, because admin operations
 * reject API keys.
 */
export function AdminSnippets({ request, call }: AdminSnippetsProps) {
  const { data: account } = useAccount()
  const { idempotencyKey } = request
  const caller = { baseUrl: serviceUrl, email: account?.email ?? '' }
  const ownCall = { ...call, ...(idempotencyKey !== undefined && { idempotencyKey }) }
  return <SnippetTabs curl={toAdminCurl(request, caller)} typeScript={toAdminTypeScript(ownCall, caller)} />
}

export function FoldedAdminSnippets({ summary, ...props }: AdminSnippetsProps & { summary: string }) {
  return (
    <details className={classes.more}>
      <summary>{summary}</summary>
      <AdminSnippets {...props} />
    </details>
  )
}
