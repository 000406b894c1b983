import { Text } from '@mantine/core'
import type { System } from '../../../../client/client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import classes from '../admin.module.css'
import { Figures } from './figures.tsx'
import { lengthText, sizeText } from '../../../parts/text/size-text.ts'
import { isLate, lateMs, walBytesMax } from './system-problems.ts'

type Thread = System['agentThreads'][number]

const count = new Intl.NumberFormat('en')
const ms = (value: number) => `${count.format(value)} ms`

export function SystemDetails({ system }: { system: System }) {
  const { agentThreads, database, eventLoopDelayMs: delay, memory, openTurns, tasks, users } = system
  const agents = (
    <PageLink href="/admin/agents" underline="always">
      {count.format(system.agents.length)} {system.agents.length === 1 ? 'agent' : 'agents'}
    </PageLink>
  )
  const hasDelay = isLate(system)
  return (
    <>
      <Panel title="Work">
        <Figures
          of={[
            { name: 'Running tasks', value: count.format(tasks.processing) },
            { name: 'Queued tasks', value: count.format(tasks.pending), note: 'Not started yet' },
            { name: 'Replies in progress', value: count.format(openTurns) },
            {
              name: 'Users',
              value: count.format(users.total),
              note: users.suspended === 0 ? 'None suspended' : `${count.format(users.suspended)} suspended`,
            },
          ]}
        />
      </Panel>
      <div className={classes.halves}>
        <ServicePanel system={system} />
        <LedgerPanel ledger={system.ledger} />
        <Panel
          title="Event loop delay"
          actions={<StatusBadge status={hasDelay ? 'warning' : 'ok'} label={hasDelay ? 'Delayed' : 'Normal'} />}
        >
          <Figures
            isPaired
            of={[
              { name: 'Median (p50)', value: ms(delay.p50), note: `Normal: below ${lateMs.p50} ms` },
              { name: '99th percentile (p99)', value: ms(delay.p99), note: `Normal: below ${lateMs.p99} ms` },
            ]}
          />
          <Text size="sm" c="dimmed" mt="sm">
            How long work waited for the main thread in the last five minutes, not counting the first minute after
            startup.
          </Text>
        </Panel>
        <Panel title="Memory and disk">
          <Figures
            isPaired
            of={[
              { name: 'Process memory', value: sizeText(memory.residentBytes) },
              { name: 'JavaScript heap', value: sizeText(memory.heapUsedBytes) },
              { name: 'Database', value: sizeText(database.bytes) },
              {
                name: 'Database log (WAL)',
                value: sizeText(database.walBytes),
                note: `Normal: below ${sizeText(walBytesMax)}`,
              },
            ]}
          />
        </Panel>
      </div>
      {system.mail && (
        <Panel title="Mail">
          <Figures
            of={[
              { name: 'Queued', value: count.format(system.mail.waiting) },
              { name: 'Failed', value: count.format(system.mail.failed), note: 'In the last four days' },
            ]}
          />
          <Text size="sm" c="dimmed" mt="sm" style={{ overflowWrap: 'anywhere' }}>
            {system.mail.lastError ? (
              <>
                Last error, <TimeText at={system.mail.lastError.at} />: {system.mail.lastError.message}
              </>
            ) : (
              'No errors.'
            )}
          </Text>
        </Panel>
      )}
      <Panel title="Agent threads">
        {agentThreads.length === 0 ? (
          <Text c="dimmed">No agent threads. The main thread runs the code of {agents}.</Text>
        ) : (
          <>
            <DataTable
              caption="Agent threads"
              columns={threadColumns}
              rows={agentThreads}
              rowKey={({ id }) => String(id)}
            />
            <Text mt="sm" c="dimmed">
              Each thread runs the code of {agents}. A thread that is blocked past a task's timeout is replaced
              automatically.
            </Text>
          </>
        )}
      </Panel>
    </>
  )
}

function ServicePanel({ system: { accepting, nodeVersion, startedAt, uptimeSeconds, version } }: { system: System }) {
  return (
    <Panel
      title="Service"
      actions={<StatusBadge status={accepting ? 'ok' : 'warning'} label={accepting ? 'Accepting tasks' : 'Stopping'} />}
    >
      <KeyValueList
        rows={[
          ['Version', version],
          ['Node.js', nodeVersion],
          ['Uptime', lengthText(uptimeSeconds)],
          ['Started', <TimeText key="started" at={startedAt} isExact />],
          ['New tasks', !accepting && 'Rejected because the service is stopping'],
        ]}
      />
    </Panel>
  )
}

function LedgerPanel({ ledger }: { ledger: System['ledger'] }) {
  const badge = ledger && (
    <StatusBadge status={ledger.ok ? 'ok' : 'failed'} label={ledger.ok ? 'Consistent' : 'Inconsistent'} />
  )
  return (
    <Panel title="Ledger" actions={badge ?? <StatusBadge status="pending" label="Checking" />}>
      <KeyValueList
        rows={[
          ['Differences', ledger ? count.format(ledger.differences) : 'Unknown'],
          ['Checked', ledger && <TimeText key="at" at={ledger.checkedAt} isExact />],
        ]}
      />
      <Text size="sm" c="dimmed" mt="sm">
        Balances are checked against transactions and tasks at startup and once a day. To check now, run{' '}
        <code className={classes.command}>npm run errand -- ledger verify</code> on the server. The service can keep
        running.
      </Text>
    </Panel>
  )
}

const threadColumns: Column<Thread>[] = [
  { id: 'thread', label: 'Thread', cell: ({ id }) => `Thread ${id}` },
  {
    id: 'state',
    label: 'Status',
    cell: ({ isResponding }) =>
      isResponding ? (
        <StatusBadge status="ok" label="Responding" />
      ) : (
        <StatusBadge status="failed" label="Not responding" />
      ),
  },
  { id: 'running', label: 'Tasks and chats', align: 'right', cell: ({ running }) => count.format(running) },
]
