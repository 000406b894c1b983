import type { ComponentType } from 'react'
import type { FormField } from './form-field.ts'

export type ControlProps<F extends FormField = FormField> = {
  field: F
  value: unknown
  /** Pass undefined to omit the value. */
  onChange: (next: unknown) => void
  /** Path of the field, in the same format as the keys of `problems`. Empty for the root. */
  path: string
  isRequired: boolean
  problems: ReadonlyMap<string, string>
  /** Component for any field. It is a prop because inputs nest recursively. */
  Part: ComponentType<ControlProps>
}

export function labelProps({
  field,
  isRequired,
  path,
  problems,
}: Pick<ControlProps, 'field' | 'isRequired' | 'path' | 'problems'>) {
  return {
    label: field.label,
    description: [field.description, boundsText(field)].filter(Boolean).join(' ') || undefined,
    required: isRequired && !field.isNullable,
    error: problems.get(path),
    errorProps: { fz: 'sm' },
  }
}

/** Describes the limits of a field in words, so that users know them before they type. */
function boundsText(field: FormField): string | undefined {
  switch (field.kind) {
    case 'number':
      return field.isMinExcluded || field.isMaxExcluded
        ? undefined
        : rangeText(field.min, field.max, (count) => String(count))
    case 'text':
      if (field.maxLength === undefined && (field.minLength ?? 0) <= 1) return undefined
      return rangeText(field.minLength || undefined, field.maxLength, (count) =>
        count === 1 ? '1 character' : `${count} characters`,
      )
    case 'tags':
    case 'list':
      return rangeText(field.minItems || undefined, field.maxItems, (count) =>
        count === 1 ? '1 item' : `${count} items`,
      )
    default:
      return undefined
  }
}

function rangeText(
  min: number | undefined,
  max: number | undefined,
  unit: (count: number) => string,
): string | undefined {
  if (min !== undefined && max !== undefined) return min === max ? `Exactly ${unit(min)}.` : `${min} to ${unit(max)}.`
  if (min !== undefined) return `At least ${unit(min)}.`
  return max === undefined ? undefined : `At most ${unit(max)}.`
}

export function emptyText({ initial, isNullable }: FormField, isRequired: boolean): string {
  if (typeof initial === 'string' || typeof initial === 'number') return String(initial)
  if (!isRequired) return 'Not set'
  return isNullable ? 'Null if empty' : ''
}
