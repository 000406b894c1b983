import { Alert } from '@mantine/core'
import { LockClosedIcon } from '@radix-ui/react-icons'
import { useAccount } from '../../app/use-account.ts'

/** Whether the account's plan and limits include the agent; true until they are known. */
export function useInPlan(agentId: string): boolean {
  return useAccount().data?.limits.agents?.includes(agentId) ?? true
}

export function NotInPlan() {
  return (
    <Alert color="gray" title="Not in your plan" icon={<LockClosedIcon aria-hidden />} mb="sm">
      Ask an administrator for a plan with this agent.
    </Alert>
  )
}
