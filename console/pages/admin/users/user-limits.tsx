import { Button, Group, MultiSelect, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { User } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { PlanSelect } from '../plans/plan-select.tsx'
import { useSystem } from '../system/use-system.ts'
import { keepUser } from './keep-user.ts'

const counts = [
  ['executionsPerMinute', 'Executions per minute'],
  ['tasksAtWork', 'Running tasks'],
  ['tasksWaiting', 'Queued tasks'],
] as const

type TextField = 'spendPerDayUsd' | (typeof counts)[number][0]
type Draft = Record<'plan' | TextField, string> & { agents: string[] }

export function UserLimits({ user }: { user: User }) {
  const [draft, setDraft] = useState(() => draftOf(user))
  const input = { userId: user.id, ...inputOf(draft) }
  const update = useMutation({
    mutationFn: () => client.users.update(input),
    onSuccess: (next) => {
      keepUser(next)
      setDraft(draftOf(next))
      notifyDone(`Saved the limits for ${next.email}.`)
    },
  })
  const { fields, rest } = fieldErrors(update.error, [
    'plan',
    ...Object.keys(input.limits).map((name) => `limits.${name}`),
  ])
  const agents = useSystem().data?.agents ?? []
  const removed = draft.agents.filter((id) => !agents.some((agent) => agent.id === id))
  const fieldOf = (name: TextField, label: string) => (
    <TextInput
      key={name}
      label={label}
      autoComplete="off"
      value={draft[name]}
      onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
      error={fields[`limits.${name}`]}
    />
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    update.mutate()
  }
  const { userId, ...body } = input
  return (
    <Panel title="Plan and limits">
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          <Text>Leave a field empty to use the plan's limit. Changes take effect immediately.</Text>
          {rest && <ErrorNotice title="Could not save the limits" error={update.error} />}
          <PlanSelect
            label="Plan"
            none={(plan) => (plan === undefined ? 'None' : `Default plan (${plan})`)}
            value={draft.plan}
            onChange={(plan) => setDraft({ ...draft, plan })}
            error={fields['plan']}
          />
          {counts.map(([name, label]) => fieldOf(name, label))}
          {fieldOf('spendPerDayUsd', 'Spending limit per day in USD')}
          <MultiSelect
            label="Allowed agents"
            data={[
              ...agents.map(({ id, name }) => ({ value: id, label: name })),
              ...removed.map((id) => ({ value: id, label: id })),
            ]}
            placeholder={draft.agents.length === 0 ? 'Agents in the plan' : ''}
            searchable
            clearable
            clearButtonProps={{ 'aria-label': 'Agents in the plan' }}
            value={draft.agents}
            onChange={(next) => setDraft({ ...draft, agents: next })}
            error={fields['limits.agents']}
          />
          <Group justify="flex-end">
            <Button type="submit" loading={update.isPending}>
              Save limits
            </Button>
          </Group>
        </Stack>
      </form>
      <FoldedSnippets
        isForPlatform
        request={{ method: 'PATCH', path: `/api/users/${encodeURIComponent(userId)}`, body }}
        call={{ method: 'users.update', input, result: 'user' }}
      />
    </Panel>
  )
}

function draftOf({ limits, plan }: User): Draft {
  const { agents, executionsPerMinute = '', spendPerDayUsd = '', tasksAtWork = '', tasksWaiting = '' } = limits
  return {
    plan: plan ?? '',
    executionsPerMinute: String(executionsPerMinute),
    tasksAtWork: String(tasksAtWork),
    tasksWaiting: String(tasksWaiting),
    spendPerDayUsd,
    agents: agents ?? [],
  }
}

function inputOf({ agents, plan, spendPerDayUsd, ...numbers }: Draft) {
  const count = (text: string) => (text.trim() === '' ? null : Number(text))
  return {
    plan: plan === '' ? null : plan,
    limits: {
      executionsPerMinute: count(numbers.executionsPerMinute),
      tasksAtWork: count(numbers.tasksAtWork),
      tasksWaiting: count(numbers.tasksWaiting),
      spendPerDayUsd: spendPerDayUsd.trim() === '' ? null : spendPerDayUsd.trim(),
      agents: agents.length === 0 ? null : agents,
    },
  }
}
