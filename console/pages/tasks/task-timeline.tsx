import { Progress } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Task, Transaction } from '../../../client/client.ts'
import { Money } from '../../parts/text/money.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { durationText } from '../../parts/text/duration-text.ts'
import type { BadgeStatus } from '../../parts/status-badge.tsx'
import { isOpen, taskLook } from './task-state.ts'
import { useTaskTransactions } from './use-task-transactions.ts'
import classes from './timeline.module.css'

type Moment = {
  key: string
  at: string
  what: string
  more?: ReactNode
  usd?: string
  look?: 'good' | 'bad' | 'ahead'
}

/** Shows the events of a task in chronological order, with the change of the balance at each event. */
export function TaskTimeline({ task }: { task: Task }) {
  const { data } = useTaskTransactions(task.id)
  const moments = momentsOf(task, data?.transactions ?? [])
  return (
    <>
      <TimeBar task={task} />
      <ol className={classes.moments}>
        {moments.map(({ key, at, what, more, usd, look }) => (
          <li key={key} className={classes.moment} data-look={look}>
            <span className={classes.what}>{what}</span>
            {usd !== undefined && (
              <span className={classes.amount}>
                <Money usd={usd} withPlus />
              </span>
            )}
            <span className={classes.when}>
              <TimeText at={at} isExact />
              {more !== undefined && <> · {more}</>}
            </span>
          </li>
        ))}
      </ol>
    </>
  )
}

/** The time in the queue, the run time and the part of it spent in connectors, in proportion. */
function TimeBar({ task: { attempt, completedAt, connectorMs = 0, createdAt, startedAt } }: { task: Task }) {
  if (startedAt === undefined || completedAt === undefined) return null
  // Before a later attempt, the task was not only queued.
  const queuedMs = attempt > 1 ? 0 : Date.parse(startedAt) - Date.parse(createdAt)
  const ranMs = Date.parse(completedAt) - Date.parse(startedAt)
  const share = (ms: number) => (100 * ms) / Math.max(1, queuedMs + ranMs)
  return (
    <Progress.Root
      size="md"
      mb="md"
      role="img"
      aria-label={[queuedMs > 0 && `Queued ${durationText(queuedMs)}`, ranText(ranMs, connectorMs)]
        .filter(Boolean)
        .join(', ')}
    >
      <Progress.Section withAria={false} value={share(queuedMs)} color="gray" />
      <Progress.Section withAria={false} value={share(Math.max(0, ranMs - connectorMs))} color="brand" />
      <Progress.Section withAria={false} value={share(Math.min(ranMs, connectorMs))} color="yellow" />
    </Progress.Root>
  )
}

const ends: Readonly<Record<string, string>> = { CANCELED: 'Canceled', EXPIRED: 'Expired before starting' }

const looks: Partial<Record<BadgeStatus, 'good' | 'bad'>> = { completed: 'good', failed: 'bad' }

function momentsOf(task: Task, transactions: readonly Transaction[]): Moment[] {
  const {
    attempt,
    completedAt,
    connectorMs = 0,
    createdAt,
    error,
    expiresAt,
    progress,
    progressLog,
    startedAt,
    status,
  } = task
  const between = (from: string, to: string) => durationText(Date.parse(to) - Date.parse(from))
  const isCharge = ({ type }: Transaction) => type === 'task_charge'
  // Add events in causal order. The stable sort below keeps this order for events in the same millisecond.
  const moments: Moment[] = [{ key: 'created', at: createdAt, what: 'Created' }]
  moments.push(...transactions.filter(isCharge).map(toMoment))
  if (startedAt !== undefined) {
    const what = attempt > 1 ? `Started, attempt ${attempt}` : 'Started'
    moments.push({
      key: 'begun',
      at: startedAt,
      what,
      ...(attempt === 1 && { more: `queued ${between(createdAt, startedAt)}` }),
    })
  }
  if (progress && !progressLog) moments.push({ key: 'progress', at: progress.at, what: progressText(progress) })
  if (completedAt !== undefined) {
    const what = status === 'completed' ? 'Completed' : (ends[error?.code ?? ''] ?? 'Failed')
    const look = looks[taskLook(status, error?.code)]
    const more =
      startedAt === undefined ? undefined : ranText(Date.parse(completedAt) - Date.parse(startedAt), connectorMs)
    moments.push({ key: 'ended', at: completedAt, what, more, ...(look && { look }) })
  }
  moments.push(...transactions.filter((one) => !isCharge(one)).map(toMoment))
  const sorted = moments.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
  if (isOpen(task) && startedAt === undefined && expiresAt !== undefined) {
    sorted.push({ key: 'expiry', at: expiresAt, what: 'Expires if not started', look: 'ahead' })
  }
  return sorted
}

function toMoment({ amountUsd, createdAt: at, id, type }: Transaction): Moment {
  return { key: id, at, what: amounts[type] ?? type, usd: amountUsd }
}

function ranText(ranMs: number, connectorMs: number): string {
  const ran = `ran ${durationText(ranMs)}`
  return connectorMs === 0 ? ran : `${ran}, ${durationText(connectorMs)} of it in connectors`
}

function progressText({ fraction, message }: NonNullable<Task['progress']>): string {
  const percent = fraction === undefined ? undefined : `${Math.floor(fraction * 100)} %`
  return [percent, message].filter(Boolean).join(', ') || 'Progress'
}

const amounts: Partial<Record<Transaction['type'], string>> = {
  task_charge: 'Charged',
  task_refund: 'Refunded in full',
  adjustment: 'Refunded (unused)',
}
