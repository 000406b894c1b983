import { Group, MultiSelect, NativeSelect, TextInput } from '@mantine/core'
import { nameOf, useAllAgents } from '../../chat/list/session-list.ts'
import { resets, type LimitReset, type LimitsDraft } from './key-limits.ts'

type KeyLimitFieldsProps = {
  draft: LimitsDraft
  onChange: (draft: LimitsDraft) => void
  errorOf: (field: keyof LimitsDraft) => string | undefined
}

export function KeyLimitFields({ draft, errorOf, onChange }: KeyLimitFieldsProps) {
  const { data: agents = [] } = useAllAgents()
  // A removed agent stays in the limits of a key.
  const ids = [...new Set([...agents.map(({ id }) => id), ...draft.agents])]
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
      <MultiSelect
        label="Allowed agents"
        description="Leave empty for all agents."
        data={ids.map((id) => ({ value: id, label: nameOf(id, agents) }))}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'All agents' }}
        value={draft.agents}
        onChange={(next) => change({ agents: next })}
        error={errorOf('agents')}
      />
    </>
  )
}
