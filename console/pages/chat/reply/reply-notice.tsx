import { Alert, Code, Text } from '@mantine/core'
import { ExclamationTriangleIcon, InfoCircledIcon } from '@radix-ui/react-icons'
import type { Transaction } from '../../../../client/client.ts'
import { addCreditPath } from '../../../app/add-credit-path.ts'
import { PageLink } from '../../../parts/page-link.tsx'
import { messageText } from '../../../parts/text/error-text.ts'
import { CapButton } from '../session-cap.tsx'
import type { ReplyNote } from '../transcript/live-exchange.ts'
import { usdText } from '../../../parts/text/usd-text.ts'

type ReplyNoticeProps = {
  note: ReplyNote
  sessionId: string
  isStored: boolean
  charge: Transaction | undefined
}

const titles: Record<string, string> = {
  STOPPED: 'Stopped',
  BROKEN: 'Connection lost',
  RELOADED: 'Page reloaded',
  LOOKING_UP: 'Could not reach the service',
  UNKNOWN: 'Outcome unknown',
  INSUFFICIENT_BALANCE: 'Balance ran out',
  BUDGET_REACHED: 'Chat cap reached',
  LIMIT_REACHED: 'Spending limit reached',
  AGENT_ERROR: 'The agent failed',
  AGENT_TIMEOUT: 'The reply timed out',
  AGENT_INTERRUPTED: 'The reply was interrupted',
}

const warnings = new Set(['INSUFFICIENT_BALANCE', 'BUDGET_REACHED', 'LIMIT_REACHED', 'LOOKING_UP'])

/** Explains why a reply is incomplete, which part of it was stored, and what it cost. */
export function ReplyNotice({ note, sessionId, isStored, charge }: ReplyNoticeProps) {
  const { code, message, requestId } = note
  const costUsd = note.costUsd ?? charge?.amountUsd.replace(/^-/, '')
  // The notice above the composer explains the rejection.
  if (code === 'REFUSED') {
    return (
      <Text size="sm" c="dimmed">
        Not sent. Your newer text is in the message box.
      </Text>
    )
  }
  const isMild = code === 'STOPPED' || code === 'RELOADED'
  const isWarning = warnings.has(code)
  const Icon = isMild ? InfoCircledIcon : ExclamationTriangleIcon
  return (
    <Alert
      color={isMild ? 'blue' : isWarning ? 'yellow' : 'red'}
      variant="light"
      title={titles[code] ?? 'The reply failed'}
      icon={<Icon aria-hidden />}
      role="alert"
    >
      <Text inherit style={{ overflowWrap: 'anywhere' }}>
        {asSentence(messageText(message))} {whatFollows({ note, costUsd, isStored })}
      </Text>
      {code === 'INSUFFICIENT_BALANCE' && (
        <PageLink href={addCreditPath} size="sm">
          Go to billing
        </PageLink>
      )}
      {code === 'BUDGET_REACHED' && <CapButton sessionId={sessionId} label="Raise cap" mt={6} />}
      {requestId !== undefined && !isMild && (
        <Text size="sm" mt={4} style={{ overflowWrap: 'anywhere' }}>
          Request ID: <Code>{requestId}</Code>
        </Text>
      )}
    </Alert>
  )
}

/** Adds a period, because messages of agents and providers may lack it. */
function asSentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

type Follows = { note: ReplyNote; costUsd: string | undefined; isStored: boolean }

function whatFollows({ note: { code, isBack, isKept, message }, costUsd, isStored }: Follows) {
  const isCharged = costUsd !== undefined && /[1-9]/.test(costUsd)
  if (isStored) {
    const price = costUsd === undefined ? 'You were charged for that part' : `You were charged ${usdText(costUsd)}`
    return `The partial reply was saved. ${price}.`
  }
  if (code === 'LOOKING_UP') return 'This page checks again automatically.'
  const where = isKept
    ? 'The previous reply was kept.'
    : isBack
      ? 'Your message is back in the message box.'
      : 'Your newer text is in the message box.'
  if (isCharged) return `You were charged ${usdText(costUsd)} for usage, but nothing was saved. ${where}`
  if (code === 'UNKNOWN') return `Reload the page when the connection is restored. ${where}`
  // The service's message may already say so.
  if (message.includes('Nothing was charged.')) return where
  return `Nothing was saved, and you were not charged. ${where}`
}
