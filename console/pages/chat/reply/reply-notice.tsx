import { Alert, Code, Text } from '@mantine/core'
import { ExclamationTriangleIcon, InfoCircledIcon } from '@radix-ui/react-icons'
import type { Transaction } from '../../../../client/client.ts'
import { PageLink } from '../../../parts/page-link.tsx'
import { CapButton } from '../session-cap.tsx'
import type { ReplyNote } from '../transcript/live-exchange.ts'
import { usdText, withUsdTexts } from '../../../parts/text/usd-text.ts'

type ReplyNoticeProps = {
  note: ReplyNote
  sessionId: string
  isStored: boolean
  charge: Transaction | undefined
}

const titles: Record<string, string> = {
  STOPPED: 'Stopped',
  BROKEN: 'The connection broke',
  RELOADED: 'The page was loaded anew',
  REFUSED: 'The message was not sent',
  LOOKING_UP: 'No connection to the service',
  UNKNOWN: 'The service could not be asked',
  INSUFFICIENT_BALANCE: 'The balance ran out',
  BUDGET_REACHED: 'The cap was reached',
  LIMIT_REACHED: 'A spend limit was reached',
  AGENT_ERROR: 'The agent failed',
  AGENT_TIMEOUT: 'The reply took too long',
  AGENT_INTERRUPTED: 'The reply was interrupted',
}

const warnings = new Set(['INSUFFICIENT_BALANCE', 'BUDGET_REACHED', 'LIMIT_REACHED', 'LOOKING_UP'])

/** Why a reply is incomplete, what was stored of it, and its cost. */
export function ReplyNotice({ note, sessionId, isStored, charge }: ReplyNoticeProps) {
  const { code, message, requestId } = note
  const costUsd = note.costUsd ?? charge?.amountUsd.replace(/^-/, '')
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
        {withUsdTexts(message)} {whatFollows({ note, costUsd, isStored })}
      </Text>
      {code === 'INSUFFICIENT_BALANCE' && (
        <PageLink href="/billing" size="sm">
          Go to billing
        </PageLink>
      )}
      {code === 'BUDGET_REACHED' && <CapButton sessionId={sessionId} label="Raise the cap" mt={6} />}
      {requestId !== undefined && !isMild && (
        <Text size="sm" mt={4} style={{ overflowWrap: 'anywhere' }}>
          Request id: <Code>{requestId}</Code>
        </Text>
      )}
    </Alert>
  )
}

type Follows = { note: ReplyNote; costUsd: string | undefined; isStored: boolean }

function whatFollows({ note: { code, isBack }, costUsd, isStored }: Follows) {
  const isCharged = costUsd !== undefined && /[1-9]/.test(costUsd)
  if (isStored) {
    const price =
      costUsd === undefined ? 'What was written until then was charged' : `${usdText(costUsd)} was charged for it`
    return `The part that was written is kept and marked as cut off. ${price}.`
  }
  if (code === 'LOOKING_UP')
    return 'That is looked up as soon as the service answers; there is nothing to do until then.'
  const where = isBack ? 'Your message is in the box again.' : 'The box has what you wrote since.'
  if (isCharged) return `${usdText(costUsd)} was charged for what was used; nothing was stored. ${where}`
  if (code === 'UNKNOWN') return `Load the page again when the connection is back. ${where}`
  return `Nothing was stored and nothing was charged. ${where}`
}
