import { Box, Input, Select, Stack } from '@mantine/core'
import { useState } from 'react'
import { ControlFrame } from './control-frame.tsx'
import { labelProps, type ControlProps } from './control-props.ts'
import { kindLabel, type Field, type FormField, type VariantsField } from './form-field.ts'
import { initialValue, matches } from './form-value.ts'
import { JsonControl } from './json-control.tsx'
import { ObjectFields } from './object-control.tsx'

export function VariantsControl(props: ControlProps<Field<VariantsField>>) {
  const { Part, field, isRequired, onChange, path, value } = props
  const { variants } = field
  const canBeLeftOut = !isRequired || field.isNullable
  const [chosen, setChosen] = useState(() => (value === undefined && !canBeLeftOut ? 0 : -1))
  // A value may match several variants. The variant that the user has chosen wins, or else the first match.
  const chosenField = variants[chosen]
  const index =
    chosenField && (value === undefined || matches(chosenField, value))
      ? chosen
      : value === undefined || value === null
        ? -1
        : variants.findIndex((variant) => matches(variant, value))
  const variant = variants[index]
  if (!variant && value !== undefined && value !== null) return <JsonControl {...props} isMisfit />

  const { description, error, label, required } = labelProps(props)
  const choose = (next: string | null) => {
    const at = next === null ? -1 : Number(next)
    setChosen(at)
    const field = variants[at]
    onChange(field && initialValue({ ...field, isNullable: false }, true))
  }
  const own = variant && { ...props, field: { ...variant, label: variantLabel(variant, label) }, isRequired: true }
  return (
    <ControlFrame description={description} label={label} required={required}>
      <Stack gap="md">
        <Select
          label="Kind"
          aria-label={`Type of ${label}`}
          data={variants.map((one, at) => ({ value: String(at), label: nameOf(variants, one, at) }))}
          value={variant ? String(index) : null}
          onChange={choose}
          placeholder={canBeLeftOut ? 'Not set' : 'Choose one'}
          allowDeselect={canBeLeftOut}
          error={variant ? undefined : error}
          inputContainer={(input) => <Box maw={360}>{input}</Box>}
        />
        {own && own.field.kind !== 'constant' && (
          <Box key={index}>
            {own.field.kind === 'object' ? (
              <>
                <ObjectFields {...own} field={own.field} />
                {error && path !== '' && (
                  <Input.Error fz="sm" mt="xs">
                    {error}
                  </Input.Error>
                )}
              </>
            ) : (
              <Part {...own} />
            )}
          </Box>
        )}
      </Stack>
    </ControlFrame>
  )
}

function variantLabel(variant: FormField, label: string): string {
  return variant.label === kindLabel(variant) ? label : variant.label
}

/** Returns the label of a variant, with a number if other variants have the same label. */
function nameOf(variants: readonly FormField[], { label }: FormField, index: number): string {
  const isAlone = variants.every((other, at) => at === index || other.label !== label)
  return isAlone ? label : `${label} ${index + 1}`
}
