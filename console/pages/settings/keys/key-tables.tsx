import { Alert, Button, Stack, Text, Title } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import type { Key } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { notifyDone } from '../../../parts/notify.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useNow } from '../../../parts/hooks/use-now.ts'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { describeScopes } from './key-scopes.ts'
import { spentText } from './key-limits.ts'
import { keyState } from './key-state.ts'
import classes from '../settings.module.css'

/** One page of active keys, with a notice for those due for rotation. */
type LiveKeysProps = { keys: readonly Key[]; onRotate: (key: Key) => void; onLimit: (key: Key) => void }

export function LiveKeys({ keys, onLimit, onRotate }: LiveKeysProps) {
  const now = useNow()
  const due = keys.filter(({ rotationDue }) => rotationDue)
  if (keys.length === 0) return <Text c="dimmed">No key works any more.</Text>
  return (
    <Stack gap="md" className={classes.keys}>
      {due.length > 0 && <RotationNotice due={due} />}
      <DataTable
        caption="Keys that work"
        isWide
        columns={[...liveColumns(now), actionColumn({ onLimit, onRotate })]}
        rows={keys}
        rowKey={({ id }) => id}
      />
    </Stack>
  )
}

export function EndedKeys({ keys }: { keys: readonly Key[] }) {
  const now = useNow()
  return (
    <Stack gap="md" className={classes.keys}>
      <Title order={2}>Revoked and expired</Title>
      <DataTable
        isWide
        caption="Keys that have ended"
        columns={endedColumns(now)}
        rows={keys}
        rowKey={({ id }) => id}
      />
    </Stack>
  )
}

function RotationNotice({ due }: { due: readonly Key[] }) {
  const title = due.length === 1 ? `${due[0]!.name} is older than 90 days` : `${due.length} keys are older than 90 days`
  return (
    <Alert color="yellow" variant="light" icon={<ExclamationTriangleIcon aria-hidden />} title={title}>
      The longer a key is used, the more places know it. Rotate it: a new key takes its place, and the old one goes on
      working until you have replaced it everywhere.
    </Alert>
  )
}

const nameColumn: Column<Key> = {
  id: 'name',
  label: 'Name',
  cell: ({ name, hint }) => (
    <>
      <Text fw={600}>{name}</Text>
      <Text size="sm" c="dimmed" ff="monospace">
        …{hint}
      </Text>
    </>
  ),
}
const scopesColumn: Column<Key> = { id: 'scopes', label: 'Scopes', cell: ({ scopes }) => describeScopes(scopes) }
const limitsColumn: Column<Key> = {
  id: 'limits',
  label: 'Limits',
  cell: (key) => {
    const { agents, executionsPerMinute, resetsAt } = key
    const spent = spentText(key)
    if (!spent && executionsPerMinute === null && agents === null) return <Text c="dimmed">None</Text>
    return (
      <>
        {spent && <Text>{spent}</Text>}
        {resetsAt !== null && (
          <Text size="sm" c="dimmed">
            resets <TimeText at={resetsAt} />
          </Text>
        )}
        {executionsPerMinute !== null && <Text>{countText(executionsPerMinute)} executions a minute</Text>}
        {agents && <Text>Only {agents.join(', ')}</Text>}
      </>
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
    label: 'State',
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
  return [nameColumn, scopesColumn, limitsColumn, createdColumn, usedColumn, expires, stateColumn(now)]
}

function endedColumns(now: number): Column<Key>[] {
  const ended: Column<Key> = {
    id: 'ended',
    label: 'Ended',
    cell: ({ revokedAt, expiresAt }) => <When at={revokedAt ?? expiresAt} />,
  }
  return [nameColumn, scopesColumn, createdColumn, usedColumn, ended, stateColumn(now)]
}

function actionColumn({ onLimit, onRotate }: Pick<LiveKeysProps, 'onLimit' | 'onRotate'>): Column<Key> {
  return {
    id: 'actions',
    label: 'Actions',
    isLabelHidden: true,
    align: 'right',
    cell: (key) => (
      <div className={classes.actions}>
        <Button size="xs" variant="default" aria-label={`Limit the key ${key.name}`} onClick={() => onLimit(key)}>
          Limits
        </Button>
        <Button size="xs" variant="default" aria-label={`Rotate the key ${key.name}`} onClick={() => onRotate(key)}>
          Rotate
        </Button>
        <ConfirmButton
          label="Revoke"
          ariaLabel={`Revoke the key ${key.name}`}
          title={`Revoke ${key.name}?`}
          confirmLabel="Revoke the key"
          onConfirm={() => revoke(key)}
        >
          The key …{key.hint} stops working with the next request that uses it. This cannot be undone. What it has
          started goes on.
        </ConfirmButton>
      </div>
    ),
  }
}

async function revoke({ id, name }: Key): Promise<void> {
  await client.keys.revoke({ keyId: id })
  notifyDone(`${name} is revoked.`)
  focusHeading()
  await queryClient.invalidateQueries({ queryKey: ['keys'] })
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
