import { Select } from '@mantine/core'

type NameSelectProps = {
  label: string
  /** Names of the values, in order. */
  names: Readonly<Record<string, string>>
  value: string
  onChange: (value: string) => void
}

/** A selection of one of several named values. */
export function NameSelect({ label, names, onChange, value }: NameSelectProps) {
  return (
    <Select
      label={label}
      data={Object.entries(names).map(([one, name]) => ({ value: one, label: name }))}
      value={value}
      allowDeselect={false}
      onChange={(chosen) => onChange(chosen ?? '')}
    />
  )
}
