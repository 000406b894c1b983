import { Box, Button, Input, Stack, Text } from '@mantine/core'
import { PlusIcon, TrashIcon } from '@radix-ui/react-icons'
import { join } from './check-value.ts'
import { ControlFrame } from './control-frame.tsx'
import { labelProps, type ControlProps } from './control-props.ts'
import type { Field, FormField, ObjectField } from './form-field.ts'
import { initialValue, isObject, othersKey, ownValue, Unfinished } from './form-value.ts'
import { JsonControl } from './json-control.tsx'

/** An object within the params, in its own frame. The user adds an optional object with a button. */
export function ObjectControl(props: ControlProps<Field<ObjectField>>) {
  const { field, isRequired, onChange, path, value } = props
  if (path === '') return <ObjectFields {...props} />
  const { description, error, label, required } = labelProps(props)
  const canBeLeftOut = !isRequired || field.isNullable
  const isThere = isObject(value) || !canBeLeftOut
  return (
    <ControlFrame description={description} label={label} required={required}>
      {isThere && <ObjectFields {...props} />}
      {error && (
        <Input.Error fz="sm" mt="xs">
          {error}
        </Input.Error>
      )}
      {canBeLeftOut && (
        <Button
          size="xs"
          variant="default"
          mt={isThere ? 'sm' : 0}
          leftSection={isThere ? <TrashIcon aria-hidden /> : <PlusIcon aria-hidden />}
          aria-label={isThere ? `Remove ${label}` : `Add ${label}`}
          onClick={() => onChange(isThere ? undefined : initialValue({ ...field, isNullable: false }, true))}
        >
          {isThere ? 'Remove' : 'Add'}
        </Button>
      )}
    </ControlFrame>
  )
}

export function ObjectFields({ Part, field, onChange, path, problems, value }: ControlProps<Field<ObjectField>>) {
  const object = isObject(value) ? value : {}
  const names = field.properties.map(({ name }) => name)
  const others = Object.entries(object).filter(([name, part]) => !names.includes(name) && part !== undefined)
  const setOwn = (name: string, next: unknown) => {
    const parts = Object.entries(object).map(([key, part]) => [key, key === name ? next : part] as const)
    onChange(Object.fromEntries(Object.hasOwn(object, name) ? parts : [...parts, [name, next]]))
  }
  const setOthers = (next: unknown) => {
    const own = Object.entries(object).filter(([name]) => names.includes(name))
    // Keep unfinished JSON under `othersKey`, where `checkValue` finds it.
    if (next instanceof Unfinished) return onChange(Object.fromEntries([...own, [othersKey, next]]))
    onChange(Object.fromEntries([...own, ...(isObject(next) ? Object.entries(next) : [])]))
  }
  if (names.length === 0 && others.length === 0 && !field.takesOthers) {
    return <Text c="dimmed">{path === '' ? 'This endpoint has no params.' : 'No fields.'}</Text>
  }
  return (
    <Stack gap="md">
      {field.properties.map(({ name, field: own, isRequired }) => (
        <Part
          key={name}
          field={own}
          value={ownValue(object, name)}
          onChange={(next) => setOwn(name, next)}
          path={join(path, name)}
          isRequired={isRequired}
          problems={problems}
          Part={Part}
        />
      ))}
      {(field.takesOthers || others.length > 0) && (
        <Box>
          <JsonControl
            field={otherKeys}
            value={others.length === 0 ? undefined : Object.fromEntries(others)}
            onChange={setOthers}
            path={join(path, othersKey)}
            isRequired={false}
            problems={problems}
            Part={Part}
          />
        </Box>
      )}
    </Stack>
  )
}

const otherKeys: FormField = {
  kind: 'json',
  expects: 'object',
  label: 'Other fields',
  description: 'A JSON object with additional fields to send.',
  isNullable: false,
  initial: undefined,
}
