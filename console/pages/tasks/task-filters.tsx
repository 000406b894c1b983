import { Button, Group, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { client } from '../../app/api-client.ts'
import type { Agent } from '../../../client/client.ts'
import { useSearchField, useSearchList } from '../../parts/hooks/use-search-field.ts'
import { SearchBox } from '../../parts/search-box.tsx'
import { TagsField } from '../../parts/tags-field.tsx'

const statuses = ['pending', 'processing', 'completed'] as const
/** Outcomes of tasks with the status `failed`. */
const outcomes = ['failed', 'canceled', 'expired'] as const
const tagsMax = 3
const searchMax = 200
const hourMs = 3_600_000

const spans: Readonly<Record<string, { label: string; ms: number }>> = {
  hour: { label: 'Last hour', ms: hourMs },
  day: { label: 'Last 24 hours', ms: 24 * hourMs },
  week: { label: 'Last 7 days', ms: 168 * hourMs },
  month: { label: 'Last 30 days', ms: 720 * hourMs },
}
const ofDays = 'days'

export function useTaskFilters() {
  const [, navigate] = useLocation()
  const [statusText, setStatus] = useSearchField('status')
  const [agentId, setAgentId] = useSearchField('agent')
  const [endpoint, setEndpointId] = useSearchField('endpoint')
  // Ignore an endpoint of another agent, which stays in the URL when the agent changes.
  const endpointId = agentId === '' || endpoint.startsWith(`${agentId}.`) ? endpoint : ''
  const [clears, setClears] = useState(0)
  const [keyId, setKeyId] = useSearchField('key')
  const [search] = useSearchField('search')
  const [tags, setTags] = useSearchList('tag')
  const [time, setTime] = useSearchField('time')
  const [from, setFrom] = useSearchField('from')
  const [to, setTo] = useSearchField('to')
  const status = statuses.find((one) => one === statusText)
  const outcome = outcomes.find((one) => one === statusText)
  const tag = tags.slice(0, tagsMax)
  const input = {
    ...(status && { status }),
    ...(outcome && { outcome }),
    ...(agentId !== '' && { agentId }),
    ...(endpointId !== '' && { endpointId }),
    ...(keyId !== '' && { keyId }),
    ...(search !== '' && { search: search.slice(0, searchMax) }),
    ...(tag.length > 0 && { tag }),
    ...timesOf({ time, from, to }),
  }
  return {
    input,
    isFiltered: Object.keys(input).length > 0,
    clear: () => {
      setClears(clears + 1)
      navigate('/tasks', { replace: true })
    },
    clears,
    fields: {
      agentId,
      endpointId,
      from,
      keyId,
      setAgentId,
      setEndpointId,
      setFrom,
      setKeyId,
      setStatus,
      setTags,
      setTime,
      setTo,
      status: status ?? outcome,
      tag,
      time,
      to,
    },
  }
}

export type TaskFiltersState = ReturnType<typeof useTaskFilters>

function timesOf({ from, time, to }: { time: string; from: string; to: string }) {
  const span = Object.hasOwn(spans, time) ? spans[time] : undefined
  if (span) {
    // Round to the minute, so that the query does not change with every render.
    return { createdAfter: new Date(Math.floor((Date.now() - span.ms) / 60_000) * 60_000).toISOString() }
  }
  if (time !== ofDays) return {}
  const first = dayOf(from, 0)
  const end = dayOf(to, 1)
  // `createdAfter` is exclusive, so subtract 1 ms to include the first moment of the day.
  return {
    ...(first && { createdAfter: new Date(first.getTime() - 1).toISOString() }),
    ...(end && { createdBefore: end.toISOString() }),
  }
}

/** Returns the local start of a day such as 2026-01-31, plus a number of days. */
function dayOf(text: string, daysLater: number): Date | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year === undefined) return undefined
  const date = new Date(Number(year), Number(month) - 1, Number(day) + daysLater)
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** At most half of a phone's width, so that two fields fit in a row. */
const width = (px: number) => `min(${px}px, calc(50% - 6px))`

type TaskFiltersProps = { filters: TaskFiltersState; agents: readonly Agent[] }

export function TaskFilters({ agents, filters: { clear, clears, fields, isFiltered } }: TaskFiltersProps) {
  const { agentId, endpointId, from, keyId, status, tag, time, to } = fields
  const endpoints = agents.filter(({ id }) => agentId === '' || id === agentId).flatMap((agent) => agent.endpoints)
  const keys = useQuery({
    queryKey: ['keys', { limit: 100 }],
    queryFn: ({ signal }) => client.keys.list({ limit: 100 }, { signal }),
    staleTime: 60_000,
  })
  return (
    <Group gap="sm" mb="sm" align="flex-end">
      {/* Clearing the filters remounts the input, which also discards unsubmitted text. */}
      <SearchBox key={clears} label="Search inputs and errors" maxLength={searchMax} />
      <Select
        label="Status"
        data={[
          { value: '', label: 'All' },
          { value: 'pending', label: 'Queued' },
          { value: 'processing', label: 'Running' },
          { value: 'completed', label: 'Completed' },
          { value: 'failed', label: 'Failed' },
          { value: 'canceled', label: 'Canceled' },
          { value: 'expired', label: 'Expired' },
        ]}
        value={status ?? ''}
        onChange={(next) => fields.setStatus(next ?? '')}
        allowDeselect={false}
        w={width(150)}
      />
      <Select
        label="Agent"
        data={optionsOf(
          agents.map(({ id, name }) => [id, name]),
          agentId,
        )}
        value={agentId}
        onChange={(next) => fields.setAgentId(next ?? '')}
        allowDeselect={false}
        searchable={agents.length > 8}
        w={width(170)}
      />
      <Select
        label="Endpoint"
        data={optionsOf(
          endpoints.map(({ id }) => [id, id]),
          endpointId,
        )}
        value={endpointId}
        onChange={(next) => fields.setEndpointId(next ?? '')}
        allowDeselect={false}
        searchable={endpoints.length > 8}
        w={width(190)}
      />
      <Select
        label="API key"
        data={optionsOf(
          (keys.data?.keys ?? []).map(({ hint, id, name }) => [id, `${name} …${hint}`]),
          keyId,
        )}
        value={keyId}
        onChange={(next) => fields.setKeyId(next ?? '')}
        allowDeselect={false}
        searchable={(keys.data?.total ?? 0) > 8}
        w={width(190)}
      />
      <Select
        label="Created"
        data={[
          { value: '', label: 'Any time' },
          ...Object.entries(spans).map(([value, { label }]) => ({ value, label })),
          { value: ofDays, label: 'Custom range' },
        ]}
        value={time === ofDays || Object.hasOwn(spans, time) ? time : ''}
        onChange={(next) => fields.setTime(next ?? '')}
        allowDeselect={false}
        w={width(170)}
      />
      {time === ofDays && (
        <>
          <TextInput
            type="date"
            label="From"
            value={from}
            onChange={(event) => fields.setFrom(event.currentTarget.value)}
            w={width(150)}
          />
          <TextInput
            type="date"
            label="To"
            value={to}
            onChange={(event) => fields.setTo(event.currentTarget.value)}
            w={width(150)}
          />
        </>
      )}
      <TagsField label="Tags" value={tag} onChange={fields.setTags} maxTags={tagsMax} w={width(240)} />
      {isFiltered && (
        <Button variant="subtle" color="gray" onClick={clear}>
          Clear filters
        </Button>
      )}
    </Group>
  )
}

/** Options by name. Includes the selected option even if it no longer exists. */
function optionsOf(names: readonly (readonly [value: string, label: string])[], chosen: string) {
  const options = names.map(([value, label]) => ({ value, label }))
  if (chosen !== '' && !options.some(({ value }) => value === chosen)) options.push({ value: chosen, label: chosen })
  return [{ value: '', label: 'All' }, ...options]
}
