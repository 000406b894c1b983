import { Fieldset, Input } from '@mantine/core'
import type { ReactNode } from 'react'
import type { labelProps } from './control-props.ts'
import classes from '../../pages/agents/agent.module.css'

type ControlFrameProps = Pick<ReturnType<typeof labelProps>, 'description' | 'label' | 'required'> & {
  children: ReactNode
}

export function ControlFrame({ children, description, label, required }: ControlFrameProps) {
  return (
    <Fieldset
      legend={required ? `${label} *` : label}
      classNames={{ root: classes.group ?? '', legend: classes.legend ?? '' }}
    >
      {description && <Input.Description mb="xs">{description}</Input.Description>}
      {children}
    </Fieldset>
  )
}
