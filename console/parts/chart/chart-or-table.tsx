import { SegmentedControl } from '@mantine/core'

export type View = 'chart' | 'table'

/** `label` describes the content for assistive technology. */
export function ChartOrTable({ label, onChange, view }: { label: string; view: View; onChange: (view: View) => void }) {
  return (
    <SegmentedControl
      size="xs"
      aria-label={label}
      data={[
        { value: 'chart', label: 'Chart' },
        { value: 'table', label: 'Table' },
      ]}
      value={view}
      onChange={(value) => onChange(value === 'table' ? 'table' : 'chart')}
    />
  )
}
