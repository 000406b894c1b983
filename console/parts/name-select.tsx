import { Select } from '@mantine/core'

type NameSelectProps = {
  label: string
  names: Readonly<Record<string, string>>
  value: string
  onChange: (value: string) => void
}

export function NameSelect({ label, names, onChange, value }: NameSelectProps) {
  return (
    <Select
      label={label}
      data={Object.entries(names).map(([one, name]) => ({ value: one, label: name }))}
      value={value}
      allowDeselect={false}
      flex="1 1 140px"
      maw={220}
      onChange={(chosen) => onChange(chosen ?? '')}
    />
  )
}
