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
          label="Spending limit"
          description="In USD. Leave empty for no limit."
          inputMode="decimal"
          leftSection="$"
          autoComplete="off"
          maxLength={20}
          value={draft.limitUsd}
          onChange={(event) => change({ limitUsd: event.currentTarget.value })}
          error={errorOf('limitUsd')}
        />
        <NativeSelect
          label="Period"
          description="Periods are in UTC. The limit resets at the end of each period."
          data={resets.map(({ label, value }) => ({ label, value }))}
          value={draft.limitReset}
          onChange={(event) => change({ limitReset: event.currentTarget.value as LimitReset })}
          error={errorOf('limitReset')}
        />
      </Group>
      <TextInput
        label="Executions per minute"
        description="Tasks and chat turns. Leave empty for the account limit."
        inputMode="numeric"
        autoComplete="off"
        maxLength={6}
        value={draft.executionsPerMinute}
        onChange={(event) => change({ executionsPerMinute: event.currentTarget.value })}
        error={errorOf('executionsPerMinute')}
      />
      <TextInput
        label="Allowed agents"
        description="Comma-separated agent IDs. Leave empty for all agents."
        autoComplete="off"
        value={draft.agents}
        onChange={(event) => change({ agents: event.currentTarget.value })}
        error={errorOf('agents')}
      />
    </>
  )
}
