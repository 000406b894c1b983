import { Group, NativeSelect, TextInput } from '@mantine/core'
import { resets, type LimitReset, type LimitsDraft } from './key-limits.ts'

type KeyLimitFieldsProps = {
  draft: LimitsDraft
  onChange: (draft: LimitsDraft) => void
  errorOf: (field: keyof LimitsDraft) => string | undefined
}

export function KeyLimitFields({ draft, errorOf, onChange }: KeyLimitFieldsProps) {
  const change = (part: Partial<LimitsDraft>) => onChange({ ...draft, ...part })
  return (
    <>
      <Group align="flex-start" grow>
        <TextInput
          label="May spend"
          description="USD; empty for no limit"
          inputMode="decimal"
          leftSection="$"
          autoComplete="off"
          maxLength={20}
          value={draft.limitUsd}
          onChange={(event) => change({ limitUsd: event.currentTarget.value })}
          error={errorOf('limitUsd')}
        />
        <NativeSelect
          label="In each period"
          description="Of UTC; then it begins anew"
          data={resets.map(({ label, value }) => ({ label, value }))}
          value={draft.limitReset}
          onChange={(event) => change({ limitReset: event.currentTarget.value as LimitReset })}
          error={errorOf('limitReset')}
        />
      </Group>
      <TextInput
        label="Executions a minute"
        description="Tasks and chats; empty for those of the account"
        inputMode="numeric"
        autoComplete="off"
        maxLength={6}
        value={draft.executionsPerMinute}
        onChange={(event) => change({ executionsPerMinute: event.currentTarget.value })}
        error={errorOf('executionsPerMinute')}
      />
      <TextInput
        label="Only for these agents"
        description="Their ids with commas between them; empty for all"
        autoComplete="off"
        value={draft.agents}
        onChange={(event) => change({ agents: event.currentTarget.value })}
        error={errorOf('agents')}
      />
    </>
  )
}
