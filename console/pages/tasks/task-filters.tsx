import { Button, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { client } from '../../app/api-client.ts'
import type { Agent } from '../../../client/client.ts'
import { useSearchField, useSearchList } from '../../parts/hooks/use-search-field.ts'
import { PeriodFields, usePeriod } from '../../parts/period/period-fields.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { TagsField } from '../../parts/tags-field.tsx'
import classes from './task.module.css'

const statuses = ['pending', 'processing', 'completed'] as const
/** Outcomes of tasks with the status `failed`. */
const outcomes = ['failed', 'canceled', 'expired'] as const
const tagsMax = 3
const searchMax = 200

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
  const period = usePeriod()
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
    ...period.input,
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
      keyId,
      period,
      setAgentId,
      setEndpointId,
      setKeyId,
      setStatus,
      setTags,
      status: status ?? outcome,
      tag,
    },
  }
}

export type TaskFiltersState = ReturnType<typeof useTaskFilters>

type TaskFiltersProps = { filters: TaskFiltersState; agents: readonly Agent[] }

export function TaskFilters({ agents, filters: { clear, clears, fields, isFiltered } }: TaskFiltersProps) {
  const { agentId, endpointId, keyId, period, status, tag } = fields
  const endpoints = agents.filter(({ id }) => agentId === '' || id === agentId).flatMap((agent) => agent.endpoints)
  const keys = useQuery({
    queryKey: ['keys', { limit: 100 }],
    queryFn: ({ signal }) => client.keys.list({ limit: 100 }, { signal }),
    staleTime: 60_000,
  })
  return (
    <div className={classes.filters}>
      {/* Clearing the filters remounts the input, which also discards unsubmitted text. */}
      <SearchBox key={clears} label="Search inputs and errors, or paste an ID" maxLength={searchMax} />
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
      />
      <PeriodFields label="Created" period={period} w="100%" dayWidth="100%" />
      <TagsField label="Tags" value={tag} onChange={fields.setTags} maxTags={tagsMax} />
      {isFiltered && (
        <Button variant="subtle" color="gray" onClick={clear} style={{ alignSelf: 'end' }}>
          Clear filters
        </Button>
      )}
    </div>
  )
}

/** Options by name. Includes the selected option even if it no longer exists. */
function optionsOf(names: readonly (readonly [value: string, label: string])[], chosen: string) {
  const options = names.map(([value, label]) => ({ value, label }))
  if (chosen !== '' && !options.some(({ value }) => value === chosen)) options.push({ value: chosen, label: chosen })
  return [{ value: '', label: 'All' }, ...options]
}
