import { Box, Checkbox, Group, NumberInput, Radio, Select } from '@mantine/core'
import { emptyText, labelProps, type ControlProps } from './control-props.ts'
import type { ChoiceField, Field, FormField, NumberField } from './form-field.ts'
import { fits, isEqual, Unfinished } from './form-value.ts'
import { JsonControl } from './json-control.tsx'
import { ListControl } from './list-control.tsx'
import { ObjectControl } from './object-control.tsx'
import { TagsControl } from './tags-control.tsx'
import { TextControl } from './text-control.tsx'
import { VariantsControl } from './variants-control.tsx'

export function FieldControl(props: ControlProps) {
  const { field, value } = props
  // A value from the JSON editor or from an earlier task may not fit the field.
  if (!fits(field, value)) return <JsonControl {...props} isMisfit />
  switch (field.kind) {
    case 'text':
      return <TextControl {...props} field={field} />
    case 'number':
      return <NumberControl {...props} field={field} />
    case 'boolean':
      return <BooleanControl {...props} />
    case 'choice':
      return <ChoiceControl {...props} field={field} />
    case 'constant':
      return <ConstantControl {...props} field={field} />
    case 'tags':
      return <TagsControl {...props} field={field} />
    case 'list':
      return <ListControl {...props} field={field} />
    case 'object':
      return <ObjectControl {...props} field={field} />
    case 'variants':
      return <VariantsControl {...props} field={field} />
    default:
      return <JsonControl {...props} />
  }
}

function NumberControl(props: ControlProps<Field<NumberField>>) {
  const { field, isRequired, onChange, value } = props
  const read = (next: number | string) => {
    if (next === '') onChange(undefined)
    else if (typeof next === 'number') onChange(next)
    else onChange(new Unfinished(next, /^-?$/.test(next) ? 'Must be a number' : 'Must be a number with fewer digits'))
  }
  return (
    <NumberInput
      {...labelProps(props)}
      value={value instanceof Unfinished ? value.text : typeof value === 'number' ? value : ''}
      onChange={read}
      allowDecimal={!field.isInteger}
      // Do not correct the user's input, because that would hide the mistake. The description states the limits.
      clampBehavior="none"
      {...(field.min !== undefined && { min: field.min })}
      {...(field.max !== undefined && { max: field.max })}
      step={field.multipleOf ?? 1}
      placeholder={emptyText(field, isRequired)}
      inputContainer={(input) => <Box maw={240}>{input}</Box>}
    />
  )
}

function BooleanControl(props: ControlProps) {
  const { field, isRequired, onChange, value } = props
  const { required, errorProps, ...texts } = labelProps(props)
  if (typeof value === 'boolean' && !field.isNullable && (isRequired || field.initial !== undefined)) {
    return (
      <Checkbox {...texts} radius="sm" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />
    )
  }
  return (
    <Radio.Group
      {...texts}
      errorProps={errorProps}
      required={required}
      value={typeof value === 'boolean' ? String(value) : ''}
      onChange={(next) => onChange(next === '' ? undefined : next === 'true')}
    >
      <Group gap="md" mt={6}>
        <Radio value="true" label="Yes" />
        <Radio value="false" label="No" />
        {!required && <Radio value="" label="Not set" />}
      </Group>
    </Radio.Group>
  )
}

function ChoiceControl(props: ControlProps<Field<ChoiceField>>) {
  const { field, isRequired, onChange, value } = props
  const { options } = field
  const chosen = value === undefined ? -1 : options.findIndex((option) => isEqual(option.value, value))
  return (
    <Select
      {...labelProps(props)}
      data={options.map(({ label }, index) => ({ value: String(index), label }))}
      value={chosen < 0 ? null : String(chosen)}
      onChange={(next) => onChange(next === null ? undefined : options[Number(next)]?.value)}
      placeholder={isRequired && !field.isNullable ? 'Choose one' : 'Not set'}
      allowDeselect={!isRequired || field.isNullable}
      searchable={options.length > 8}
      nothingFoundMessage="No matches"
      inputContainer={(input) => <Box maw={360}>{input}</Box>}
    />
  )
}

function ConstantControl(props: ControlProps<Extract<FormField, { kind: 'constant' }>>) {
  const { field, isRequired, onChange, value } = props
  const { description, error } = labelProps(props)
  // A required constant leaves the user nothing to choose.
  if (isRequired) return null
  return (
    <Checkbox
      radius="sm"
      description={description}
      error={error}
      label={`${field.label}: ${String(field.value)}`}
      checked={value !== undefined}
      onChange={(event) => onChange(event.currentTarget.checked ? field.value : undefined)}
    />
  )
}
