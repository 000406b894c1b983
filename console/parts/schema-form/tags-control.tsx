import { MultiSelect, TagsInput } from '@mantine/core'
import { labelProps, type ControlProps } from './control-props.ts'
import type { Field, FormField, TagsField } from './form-field.ts'
import { isEqual, Unfinished } from './form-value.ts'

export function TagsControl(props: ControlProps<Field<TagsField>>) {
  const { field, isRequired, onChange, path, problems, value } = props
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  const texts = labelProps(props)
  // Also show errors of single items here, because all items share this input.
  const error = texts.error ?? problems.get(`${path}.0`)
  const set = (next: readonly unknown[]) => onChange(next.length === 0 && !isRequired ? undefined : next)
  const { item } = field
  if (item.kind === 'choice') {
    const { options } = item
    return (
      <MultiSelect
        {...texts}
        error={error}
        data={options.map(({ label }, index) => ({ value: String(index), label }))}
        value={items.map((one) => String(options.findIndex((option) => isEqual(option.value, one))))}
        onChange={(next) => set(next.map((index) => options[Number(index)]?.value))}
        placeholder={items.length === 0 ? 'Choose any' : undefined}
        hidePickedOptions
      />
    )
  }
  return (
    <TagsInput
      {...texts}
      description={[texts.description, 'Press Enter after each one.'].filter(Boolean).join(' ')}
      error={error}
      value={items.map(toTag)}
      onChange={(next) => set(next.map((text) => fromTag(item, text)))}
      allowDuplicates={!field.isUnique}
      // Do not split strings at commas, because a string may contain commas.
      splitChars={item.kind === 'number' ? [',', ';', ' '] : []}
      placeholder={items.length === 0 && !isRequired ? 'Not set' : undefined}
    />
  )
}

function toTag(item: unknown): string {
  return item instanceof Unfinished ? item.text : String(item)
}

function fromTag(item: FormField, text: string): unknown {
  if (item.kind !== 'number') return text
  const number = Number(text)
  return text.trim() !== '' && Number.isFinite(number) ? number : new Unfinished(text, `${text} is not a number.`)
}
