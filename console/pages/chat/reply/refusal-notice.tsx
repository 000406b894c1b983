import { Alert, Button, Code, Group, Text } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import { ErrandClientError } from '../../../../client/client.ts'
import { addCreditPath } from '../../../app/add-credit-path.ts'
import { errorText, messageText, waitText } from '../../../parts/text/error-text.ts'
import { PageLink } from '../../../parts/page-link.tsx'
import { CapButton } from '../session-cap.tsx'
import type { LiveState } from '../transcript/live-exchange.ts'
import { useSecondsLeft } from '../../../parts/hooks/use-seconds-left.ts'

type RefusalNoticeProps = {
  sessionId: string
  refusal: NonNullable<LiveState['refusal']>
  onReload: () => void
  onDismiss: () => void
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

const titles: Record<string, string> = {
  RATE_LIMIT_EXCEEDED: 'Rate limit reached',
  INSUFFICIENT_BALANCE: 'Insufficient balance',
  BUDGET_REACHED: 'Chat cap reached',
  LIMIT_REACHED: 'Spending limit reached',
  ACCOUNT_BLOCKED: 'Chats are temporarily blocked',
  SESSION_BUSY: 'Another reply is in progress',
  SESSION_EXPIRED: 'This chat has expired',
  SESSION_COMPLETED: 'This chat has ended',
}

/**
 * Explains why the service rejected a message, for which nothing was charged. The message is back in the composer,
 * unless the user has typed another one.
 */
export function RefusalNotice({ refusal: { at, error }, sessionId, onDismiss, onReload }: RefusalNoticeProps) {
  const { code, requestId, retryAfterSeconds } =
    error instanceof ErrandClientError ? error : { code: '', requestId: undefined, retryAfterSeconds: undefined }
  // After SERVICE_UNAVAILABLE, the service may still be unavailable at the retry time.
  const isPromised = retryAfterSeconds !== undefined && code !== 'SERVICE_UNAVAILABLE'
  const until = !isPromised ? undefined : at + retryAfterSeconds * 1000
  const left = useSecondsLeft(until)
  return (
    <Alert
      color={code === 'SESSION_BUSY' || code === 'RATE_LIMIT_EXCEEDED' ? 'yellow' : 'red'}
      variant="light"
      py="xs"
      title={titles[code] ?? 'Could not send the message'}
      icon={<ExclamationTriangleIcon aria-hidden />}
    >
      <div role="alert">
        <Text inherit style={{ overflowWrap: 'anywhere' }}>
          {code === 'SESSION_BUSY'
            ? 'The agent is replying to a message from another tab or the API. Wait for that reply, then send your message.'
            : code === 'RATE_LIMIT_EXCEEDED' && error instanceof ErrandClientError
              ? messageText(error.message)
              : errorText(error)}{' '}
          {until !== undefined && `You can send messages again at ${clock.format(until)}. `}
          {code === 'SERVICE_UNAVAILABLE' && 'Try again in a few seconds. '}Nothing was charged.
        </Text>
      </div>
      <Group gap="sm" mt={4}>
        {left > 0 && (
          <Text size="sm" className="tabular">
            In {waitText(left)}
          </Text>
        )}
        {code === 'INSUFFICIENT_BALANCE' && (
          <PageLink href={addCreditPath} size="sm">
            Go to billing
          </PageLink>
        )}
        {code === 'BUDGET_REACHED' && <CapButton sessionId={sessionId} label="Raise cap" size="compact-sm" />}
        {code === 'SESSION_BUSY' && (
          <Button size="compact-sm" variant="default" onClick={onReload}>
            Load messages
          </Button>
        )}
        {requestId !== undefined && titles[code] === undefined && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            Request ID: <Code>{requestId}</Code>
          </Text>
        )}
        <Button size="compact-sm" variant="subtle" color="gray" onClick={onDismiss}>
          Dismiss
        </Button>
      </Group>
    </Alert>
  )
}
