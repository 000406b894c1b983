import type { Account } from '../../../client/client.ts'
import { useSecondsLeft } from '../../parts/hooks/use-seconds-left.ts'
import { StatTile } from './stat-tile.tsx'
import { countText } from '../../parts/text/count-text.ts'

export function RateLimitTile({ account, isLoading }: { account: Account | undefined; isLoading: boolean }) {
  const rate = account?.rateLimit
  const label = 'Rate limit remaining'
  if (!rate) return <StatTile label={label} value={undefined} isLoading={isLoading} />
  if (rate.limit === 0) return <StatTile label={label} value="No limit" note="Unlimited executions" />
  const note =
    rate.resetAt === null || rate.remaining === rate.limit ? (
      'Executions per 60 seconds'
    ) : (
      <FreeAgain resetAt={rate.resetAt} isUsedUp={rate.remaining === 0} />
    )
  return <StatTile label={label} value={`${countText(rate.remaining)} of ${countText(rate.limit)}`} note={note} />
}

const exact = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

/** Shows seconds, because TimeText is too coarse for a window of 60 seconds. */
function FreeAgain({ isUsedUp, resetAt }: { isUsedUp: boolean; resetAt: string }) {
  const seconds = useSecondsLeft(Date.parse(resetAt))
  const at = exact.format(new Date(resetAt))
  return (
    <>
      {isUsedUp ? 'Next execution available' : 'Next increase'}{' '}
      <time dateTime={resetAt} title={at}>
        {seconds > 0 ? `in ${seconds}\u00A0s, at ${at}` : 'now'}
      </time>
    </>
  )
}
