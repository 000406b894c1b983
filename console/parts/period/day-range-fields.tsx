import { TextInput, type BoxProps } from '@mantine/core'

type DayRangeFieldsProps = {
  from: string
  to: string
  setFrom: (day: string) => void
  setTo: (day: string) => void
  w?: BoxProps['w']
}

export function DayRangeFields({ from, setFrom, setTo, to, w }: DayRangeFieldsProps) {
  return (
    <>
      <TextInput
        type="date"
        label="From (UTC)"
        value={from}
        onChange={(event) => setFrom(event.currentTarget.value)}
        w={w}
      />
      <TextInput type="date" label="To (UTC)" value={to} onChange={(event) => setTo(event.currentTarget.value)} w={w} />
    </>
  )
}
