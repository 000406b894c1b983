import { Alert } from '@mantine/core'
import { LockClosedIcon } from '@radix-ui/react-icons'
import type { Agent } from '../../../client/client.ts'
import { useAccount } from '../../app/use-account.ts'

type Locked = Pick<Agent, 'plans'>

const list = new Intl.ListFormat('en')

export function NotInPlan({ agent }: { agent: Locked }) {
  return (
    <Alert color="gray" title="Not in your plan" icon={<LockClosedIcon aria-hidden />} mb="sm">
      {useHowToUnlock(agent)}
    </Alert>
  )
}

export function useHowToUnlock({ plans = [] }: Locked): string {
  const own = useAccount().data?.limits.plan ?? null
  if (own !== null && plans.includes(own))
    return 'Your account limits do not include this agent. Ask an admin for access.'
  if (plans.length === 0) return 'No plan includes this agent. Ask an admin for access.'
  const names = `${plans.length === 1 ? 'plan' : 'plans'} ${list.format(plans)}`
  return `Included in the ${names}. Ask an admin to change your plan.`
}
