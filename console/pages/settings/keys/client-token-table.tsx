import type { ReactNode } from 'react'
import type { ClientToken } from '../../../../client/client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Money, MoneyOf } from '../../../parts/text/money.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { spentShare } from './key-limits.ts'
import { describeScopes } from './key-scopes.ts'
import { SpendBar } from './spend-bar.tsx'

type ClientTokenTableProps = {
  tokens: readonly ClientToken[]
  first: Column<ClientToken>
  /** Whether the tokens' chats and tasks belong to the reader, who can then open them. */
  isOwn?: boolean
  onRevoke: (token: ClientToken) => Promise<void>
}

export function ClientTokenTable({ first, isOwn = false, onRevoke, tokens }: ClientTokenTableProps) {
  const columns: Column<ClientToken>[] = [
    first,
    { id: 'scopes', label: 'Scopes', cell: ({ scopes }) => describeScopes(scopes) },
    { id: 'access', label: 'Access', cell: (token) => <Access of={token} isOwn={isOwn} /> },
    { id: 'spend', label: 'Spent', cell: (token) => <Spent of={token} /> },
    { id: 'created', label: 'Created', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    { id: 'expires', label: 'Expires', cell: ({ expiresAt }) => <TimeText at={expiresAt} /> },
    {
      id: 'actions',
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      cell: (token) => (
        <ConfirmButton
          label="Revoke"
          ariaLabel={`Revoke the token …${token.id.slice(-4)}`}
          title="Revoke this client token?"
          confirmLabel="Revoke token"
          onConfirm={() => onRevoke(token)}
        >
          The token …{token.id.slice(-4)} stops working immediately. Tasks and chats that it started continue.
        </ConfirmButton>
      ),
    },
  ]
  return <DataTable caption="Client tokens" isWide columns={columns} rows={tokens} rowKey={({ id }) => id} />
}

function OwnLink({ children, href }: { href: string | false; children: ReactNode }) {
  return href === false ? children : <PageLink href={href}>{children}</PageLink>
}

function Access({ isOwn, of: { agents, once, sessionId, taskId } }: { isOwn: boolean; of: ClientToken }) {
  return (
    <>
      {sessionId !== null ? (
        <OwnLink href={isOwn && `/chat/${sessionId}`}>One chat</OwnLink>
      ) : taskId !== null ? (
        <OwnLink href={isOwn && `/tasks/${taskId}`}>One task</OwnLink>
      ) : agents === null ? (
        'All agents'
      ) : (
        `Only ${agents.join(', ')}`
      )}
      {once && ', one execution'}
    </>
  )
}

function Spent({ of: { id, maxCostUsd, usedUsd } }: { of: ClientToken }) {
  if (maxCostUsd === null) return <Money usd={usedUsd} isRounded />
  return (
    <>
      <MoneyOf usd={usedUsd} ofUsd={maxCostUsd} />
      <SpendBar share={spentShare({ limitUsd: maxCostUsd, usedUsd })} label={`Spending of token …${id.slice(-4)}`} />
    </>
  )
}
