import { Box, Button, Group, Input, Stack } from '@mantine/core'
import { PlusIcon, TrashIcon } from '@radix-ui/react-icons'
import { useEffect, useRef, useState } from 'react'
import { join } from './check-value.ts'
import { ControlFrame } from './control-frame.tsx'
import { labelProps, type ControlProps } from './control-props.ts'
import type { Field, ListField } from './form-field.ts'
import { initialValue } from './form-value.ts'
import classes from '../../pages/agents/agent.module.css'

export function ListControl(props: ControlProps<Field<ListField>>) {
  const { Part, field, isRequired, onChange, path, problems, value } = props
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  const [keys, setKeys] = useState<readonly number[]>(() => items.map((_, index) => index))
  const rows = useRef<HTMLDivElement>(null)
  const addButton = useRef<HTMLButtonElement>(null)
  const focusAfter = useRef<'last' | 'add' | undefined>(undefined)
  useEffect(() => {
    if (focusAfter.current === 'add') addButton.current?.focus()
    if (focusAfter.current === 'last') {
      rows.current?.querySelector<HTMLElement>(':scope > :last-child :is(input, textarea, select)')?.focus()
    }
    focusAfter.current = undefined
  }, [items.length])

  const add = () => {
    focusAfter.current = 'last'
    setKeys([...keys, Math.max(-1, ...keys) + 1])
    onChange([...items, initialValue(field.item, true)])
  }
  const remove = (index: number) => {
    focusAfter.current = 'add'
    setKeys(keys.filter((_, at) => at !== index))
    const rest = items.filter((_, at) => at !== index)
    onChange(rest.length === 0 && !isRequired ? undefined : rest)
  }
  const { description, error, label, required } = labelProps(props)
  const isFull = field.maxItems !== undefined && items.length >= field.maxItems
  return (
    <ControlFrame description={description} label={label} required={required}>
      <Stack gap="sm" ref={rows}>
        {items.map((item, index) => (
          <Box key={keys[index] ?? index} className={classes.row}>
            <Box>
              <Part
                field={{ ...field.item, label: `${label} ${index + 1}` }}
                value={item}
                onChange={(next) => onChange(items.map((old, at) => (at === index ? next : old)))}
                path={join(path, String(index))}
                isRequired
                problems={problems}
                Part={Part}
              />
            </Box>
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              leftSection={<TrashIcon aria-hidden />}
              aria-label={`Remove ${label} ${index + 1}`}
              onClick={() => remove(index)}
            >
              Remove
            </Button>
          </Box>
        ))}
      </Stack>
      <Group mt={items.length > 0 ? 'sm' : 0} gap="sm">
        <Button
          ref={addButton}
          size="xs"
          variant="default"
          leftSection={<PlusIcon aria-hidden />}
          aria-label={`Add to ${label}`}
          // Disabled only by attributes, so that the button can keep focus when the list is full.
          data-disabled={isFull}
          aria-disabled={isFull}
          onClick={() => !isFull && add()}
        >
          Add
        </Button>
        {error && <Input.Error fz="sm">{error}</Input.Error>}
      </Group>
    </ControlFrame>
  )
}
