import { NativeSelect } from '@mantine/core'
import { useSystem } from '../system/use-system.ts'

type PlanSelectProps = {
  label?: string
  'aria-label'?: string
  /** Label of the choice that means no plan. */
  none: (defaultPlan: string | undefined) => string
  value: string
  onChange: (value: string) => void
  error?: string | undefined
}

/** Selects one of the configured plans. Also offers the current value if it is no longer configured. */
export function PlanSelect({ none, onChange, value, ...props }: PlanSelectProps) {
  const plans = useSystem().data?.plans ?? []
  const names = plans.map(({ name }) => name)
  const isRemoved = value !== '' && !names.includes(value)
  return (
    <NativeSelect
      {...props}
      data={[
        { value: '', label: none(plans.find(({ isDefault }) => isDefault)?.name) },
        ...names,
        ...(isRemoved ? [value] : []),
      ]}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
