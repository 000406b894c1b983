import { Alert, Stack, Text, Title, VisuallyHidden } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import type { Key } from '../../../../client/client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useNow } from '../../../parts/hooks/use-now.ts'
import { describeScopes } from './key-scopes.ts'
import { spentShare } from './key-limits.ts'
import { KeyMenu } from './key-menu.tsx'
import { rotationLinks } from './key-rotation.tsx'
import { keyState } from './key-state.ts'
import { KeySpend, SpendBar } from './spend-bar.tsx'
import classes from '../settings.module.css'

type KeysProps = {
  keys: readonly Key[]
  /** The keys of both tables, because a key and its replacement can be in different tables. */
  all: readonly Key[]
}
type LiveKeysProps = KeysProps & { onRotate: (key: Key) => void; onLimit: (key: Key) => void }

/** One page of active keys, with a notice about the keys that are due for rotation. */
export function LiveKeys({ all, keys, onLimit, onRotate }: LiveKeysProps) {
  const now = useNow()
  const due = keys.filter(({ rotationDue }) => rotationDue)
  if (keys.length === 0) return <Text c="dimmed">No active API keys.</Text>
  return (
    <Stack gap="md" className={classes.keys}>
      {due.length > 0 && <RotationNotice due={due} />}
      <DataTable
        caption="Active API keys"
        isWide
        columns={[nameColumn(all), ...liveColumns(now), actionColumn({ onLimit, onRotate })]}
        rows={keys}
        rowKey={({ id }) => id}
        opensRows
      />
    </Stack>
  )
}

export function EndedKeys({ all, keys }: KeysProps) {
  const now = useNow()
  return (
    <Stack gap="md" className={classes.keys}>
      <Title order={2}>Revoked and expired keys</Title>
      <DataTable
        isWide
        caption="Revoked and expired keys"
        columns={[nameColumn(all), ...endedColumns(now)]}
        rows={keys}
        rowKey={({ id }) => id}
        opensRows
      />
    </Stack>
  )
}

function RotationNotice({ due }: { due: readonly Key[] }) {
  const title = due.length === 1 ? `${due[0]!.name} is older than 90 days` : `${due.length} keys are older than 90 days`
  return (
    <Alert color="yellow" variant="light" icon={<ExclamationTriangleIcon aria-hidden />} title={title}>
      Rotate old keys regularly. The old key keeps working for a while, so that you can replace it everywhere.
    </Alert>
  )
}

function nameColumn(all: readonly Key[]): Column<Key> {
  return {
    id: 'name',
    label: 'Name',
    cell: (key) => (
      <>
        <PageLink href={`/settings/keys/${key.id}`} fw={600}>
          {key.name}
        </PageLink>
        <Text size="sm" c="dimmed" ff="monospace">
          …{key.hint}
        </Text>
        {rotationLinks(key, all).map(
          ([label, link]) =>
            link && (
              <Text key={label} size="sm" c="dimmed">
                {label} {link}
              </Text>
            ),
        )}
      </>
    ),
  }
}
const scopesColumn: Column<Key> = { id: 'scopes', label: 'Scopes', cell: ({ scopes }) => describeScopes(scopes) }
const limitsColumn: Column<Key> = {
  id: 'limits',
  label: 'Limits',
  cell: (key) => {
    const { agents, executionsPerMinute, limitUsd, resetsAt } = key
    if (limitUsd === null && executionsPerMinute === null && agents === null) return <Text c="dimmed">None</Text>
    return (
      <div className={classes.limits}>
        {limitUsd !== null && (
          <Text>
            <KeySpend of={key} />
          </Text>
        )}
        {limitUsd !== null && <SpendBar share={spentShare(key)} label={`Spend of ${key.name}`} />}
        <Text size="sm" c="dimmed" className={classes.otherLimits}>
          {resetsAt !== null && (
            <span>
              Resets <TimeText at={resetsAt} />
            </span>
          )}
          {executionsPerMinute !== null && <span>{countText(executionsPerMinute)} executions/min</span>}
          {agents && (
            <span title={agents.join(', ')}>
              {agents.length === 1 ? (
                `Agent ${agents[0]}`
              ) : (
                <>
                  {countText(agents.length)} agents<VisuallyHidden>: {agents.join(', ')}</VisuallyHidden>
                </>
              )}
            </span>
          )}
        </Text>
      </div>
    )
  },
}
const createdColumn: Column<Key> = { id: 'created', label: 'Created', cell: ({ createdAt }) => <When at={createdAt} /> }
const usedColumn: Column<Key> = {
  id: 'used',
  label: 'Last used',
  cell: ({ lastUsedAt }) => <When at={lastUsedAt} />,
}

function stateColumn(now: number): Column<Key> {
  return {
    id: 'state',
    label: 'Status',
    cell: (key) => {
      const { status, label } = keyState(key, now)
      return <StatusBadge status={status} {...(label !== undefined && { label })} />
    },
  }
}

function liveColumns(now: number): Column<Key>[] {
  const expires: Column<Key> = {
    id: 'expires',
    label: 'Expires',
    cell: ({ expiresAt }) => <When at={expiresAt} />,
  }
  return [scopesColumn, limitsColumn, createdColumn, usedColumn, expires, stateColumn(now)]
}

function endedColumns(now: number): Column<Key>[] {
  const ended: Column<Key> = {
    id: 'ended',
    label: 'Ended',
    cell: ({ revokedAt, expiresAt }) => <When at={revokedAt ?? expiresAt} />,
  }
  return [scopesColumn, createdColumn, usedColumn, ended, stateColumn(now)]
}

function actionColumn({ onLimit, onRotate }: Pick<LiveKeysProps, 'onLimit' | 'onRotate'>): Column<Key> {
  return {
    id: 'actions',
    label: 'Actions',
    isLabelHidden: true,
    align: 'right',
    cell: (key) => <KeyMenu of={key} onLimit={() => onLimit(key)} onRotate={() => onRotate(key)} />,
  }
}

function When({ at }: { at: string | null }) {
  return (
    <span>
      {at === null ? (
        <Text c="dimmed" inherit span>
          Never
        </Text>
      ) : (
        <TimeText at={at} />
      )}
    </span>
  )
}
