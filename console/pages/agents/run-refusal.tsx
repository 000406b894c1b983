import { Alert, Text } from '@mantine/core'
import { ClockIcon, ExclamationTriangleIcon } from '@radix-ui/react-icons'
import { ErrandClientError } from '../../../client/client.ts'
import { useAccount } from '../../app/use-account.ts'
import { addCreditPath } from '../../app/add-credit-path.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { secondsText } from '../../parts/text/duration-text.ts'
import { useSecondsLeft } from '../../parts/hooks/use-seconds-left.ts'
import { errorText } from '../../parts/text/error-text.ts'

export const blockReason = "Too many of this account's tasks failed in a short time."

/** Returns the time from which the service accepts a task again after an error. Undefined if waiting does not help. */
export function freeAt(error: unknown, receivedAt: number): number | undefined {
  if (!(error instanceof ErrandClientError) || error.retryAfterSeconds === undefined) return undefined
  return receivedAt + error.retryAfterSeconds * 1000
}

export function RunRefusal({ error, receivedAt }: { error: unknown; receivedAt: number }) {
  const code = error instanceof ErrandClientError ? error.code : undefined
  const until = freeAt(error, receivedAt)
  const account = useAccount()
  if (code === 'INSUFFICIENT_BALANCE' && error instanceof ErrandClientError) {
    return (
      <Alert role="alert" color="red" title="Insufficient balance" icon={<ExclamationTriangleIcon aria-hidden />}>
        {errorText(error)} Nothing was charged.{' '}
        {account.data?.payments ? (
          <PageLink href={addCreditPath} underline="always">
            Add credit
          </PageLink>
        ) : (
          'Ask an admin to add credit.'
        )}
      </Alert>
    )
  }
  if (until !== undefined && error instanceof ErrandClientError) {
    const titles: Partial<Record<string, string>> = {
      RATE_LIMIT_EXCEEDED: 'Rate limit reached',
      ACCOUNT_BLOCKED: 'Tasks are temporarily blocked',
    }
    return (
      <WaitNotice title={titles[error.code] ?? 'The service is not accepting tasks'} until={until} isAlert>
        {error.code === 'ACCOUNT_BLOCKED' ? reasonOf(error.message) : error.message} Nothing was charged.
      </WaitNotice>
    )
  }
  const isUnknown = code === 'NETWORK_ERROR' || code === 'TIMEOUT' || code === 'BAD_RESPONSE'
  if (!isUnknown) return <ErrorNotice title="Could not create the task" error={error} />
  return (
    <>
      <ErrorNotice title="The task may not have been created" error={error} />
      <Text size="sm" c="dimmed">
        Run it again without changes. You will be charged only once.
      </Text>
    </>
  )
}

/** Replaces the server's message, which contains a UTC time. The page shows that time in the user's time zone. */
function reasonOf(message: string): string {
  if (!message.includes('connectorIds')) return blockReason
  return 'A task failed after calling a connector. You can still run this without connectors.'
}

type WaitNoticeProps = { title: string; until: number; isAlert?: boolean; children: React.ReactNode }

export function WaitNotice({ title, until, isAlert = false, children }: WaitNoticeProps) {
  const left = useSecondsLeft(until)
  return (
    <Alert color="yellow" title={title} icon={<ClockIcon aria-hidden />}>
      <Text inherit role={isAlert ? 'alert' : undefined}>
        {children} You can run it at <TimeText at={new Date(until).toISOString()} isExact />.
      </Text>
      {/* Outside the alert, because screen readers would otherwise announce it every second. */}
      <Text inherit fw={600} mt={4} role="timer">
        {left > 0 ? `${secondsText(left)} left` : 'You can run it now.'}
      </Text>
    </Alert>
  )
}
