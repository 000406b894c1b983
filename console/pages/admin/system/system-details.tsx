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
            { name: 'Tasks processing', value: count.format(tasks.processing) },
            { name: 'Tasks pending', value: count.format(tasks.pending), note: 'Waiting for their turn' },
            { name: 'Chats being answered', value: count.format(openTurns) },
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
          title="Delay of the event loop"
          actions={<StatusBadge status={hasDelay ? 'warning' : 'ok'} label={hasDelay ? 'Late' : 'Normal'} />}
        >
          <Figures
            isPaired
            of={[
              { name: 'Half of the time below (p50)', value: ms(delay.p50), note: `Normal: below ${lateMs.p50} ms` },
              { name: 'Nearly always below (p99)', value: ms(delay.p99), note: `Normal: below ${lateMs.p99} ms` },
            ]}
          />
          <Text size="sm" c="dimmed" mt="sm">
            How long whatever the serving thread does has to wait for it, in the last five minutes at most. The first
            minute after a start is not judged.
          </Text>
        </Panel>
        <Panel title="Memory and disk">
          <Figures
            isPaired
            of={[
              { name: 'Memory of the process', value: sizeText(memory.residentBytes) },
              { name: 'In JavaScript objects', value: sizeText(memory.heapUsedBytes) },
              { name: 'Database', value: sizeText(database.bytes) },
              {
                name: 'Log of the database (WAL)',
                value: sizeText(database.walBytes),
                note: `Normal: below ${sizeText(walBytesMax)}`,
              },
            ]}
          />
        </Panel>
      </div>
      <Panel title="Agent threads">
        {agentThreads.length === 0 ? (
          <Text c="dimmed">There are none: the {agents} run in the thread that serves.</Text>
        ) : (
          <>
            <DataTable
              caption="Agent threads"
              columns={threadColumns}
              rows={agentThreads}
              rowKey={({ id }) => String(id)}
            />
            <Text mt="sm" c="dimmed">
              Each runs all of the {agents}. A thread that is blocked past the time of a task is replaced by itself.
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
      actions={<StatusBadge status={accepting ? 'ok' : 'warning'} label={accepting ? 'Accepting' : 'Stopping'} />}
    >
      <KeyValueList
        rows={[
          ['Version', version],
          ['Node', nodeVersion],
          ['Up for', lengthText(uptimeSeconds)],
          ['Started', <TimeText key="started" at={startedAt} isExact />],
          ['New tasks', accepting ? 'Accepted' : 'Refused, because the service is stopping'],
        ]}
      />
    </Panel>
  )
}

function LedgerPanel({ ledger }: { ledger: System['ledger'] }) {
  const badge = ledger && <StatusBadge status={ledger.ok ? 'ok' : 'failed'} label={ledger.ok ? 'Adds up' : 'Differs'} />
  return (
    <Panel title="Ledger" actions={badge ?? <StatusBadge status="pending" label="Being checked" />}>
      <KeyValueList
        rows={[
          ['Differences', ledger ? count.format(ledger.differences) : 'Not known yet'],
          ['Checked', ledger && <TimeText key="at" at={ledger.checkedAt} isExact />],
        ]}
      />
      <Text size="sm" c="dimmed" mt="sm">
        Every balance is compared with its transactions and tasks when the service starts, and once a day. To check now,
        run <code className={classes.command}>npm run errand -- ledger verify</code> on the server; it works while the
        service runs.
      </Text>
    </Panel>
  )
}

const threadColumns: Column<Thread>[] = [
  { id: 'thread', label: 'Thread', cell: ({ id }) => `Thread ${id}` },
  {
    id: 'state',
    label: 'State',
    cell: ({ isResponding }) =>
      isResponding ? (
        <StatusBadge status="ok" label="Responding" />
      ) : (
        <StatusBadge status="failed" label="Not responding" />
      ),
  },
  { id: 'running', label: 'Tasks and chats in it', align: 'right', cell: ({ running }) => count.format(running) },
]
