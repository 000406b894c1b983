import { Box, Textarea, TextInput } from '@mantine/core'
import { emptyText, labelProps, type ControlProps } from './control-props.ts'
import type { Field, TextField } from './form-field.ts'
import { TextFile } from './text-file.tsx'

/** Single-line or multi-line text input. The user can fill a multi-line input from a file. */
export function TextControl(props: ControlProps<Field<TextField>>) {
  const { field, isRequired, onChange, value } = props
  const own = {
    ...labelProps(props),
    value: typeof value === 'string' ? value : '',
    // An empty input omits the value.
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value || undefined),
    placeholder: emptyText(field, isRequired),
    autoComplete: 'off',
    spellCheck: field.format === undefined && field.pattern === undefined,
  }
  if (field.lines === 0) {
    const example = field.format === 'date-time' ? '2026-11-21T09:30:00Z' : undefined
    return (
      <TextInput
        {...own}
        type={field.inputType}
        placeholder={example ?? own.placeholder}
        inputContainer={(input) => <Box maw={480}>{input}</Box>}
      />
    )
  }
  // Starts with one line and grows with the text, up to six lines.
  const rows = field.lines === 1 ? Math.min(6, own.value.split('\n').length) : field.lines
  const area = <Textarea {...own} rows={rows} resize="vertical" />
  if (field.lines === 1) return area
  return (
    <TextFile label={field.label} text={own.value} onText={onChange}>
      {area}
    </TextFile>
  )
}
