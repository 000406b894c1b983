import { Alert } from '@mantine/core'
import { LockClosedIcon } from '@radix-ui/react-icons'

export function NotInPlan() {
  return (
    <Alert color="gray" title="Not in your plan" icon={<LockClosedIcon aria-hidden />} mb="sm">
      Ask an admin for a plan that includes this agent.
    </Alert>
  )
}
