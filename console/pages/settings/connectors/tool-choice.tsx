import { Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Suspense, useState, type FormEvent } from 'react'
import type { Connector, ConnectorTool } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { lazyPart } from '../../../app/load-part.ts'
import { queryClient } from '../../../app/query-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { notifyDone } from '../../../parts/notify.tsx'
import classes from '../settings.module.css'
import { ToolItem } from './tool-item.tsx'

type ToolChoiceProps = { connector: Connector; tools: readonly ConnectorTool[] }

const TryTool = lazyPart(async () => (await import('./try-tool.tsx')).TryTool)

const searchFrom = 8

/** Lists the tools. Agents may call all of them, or only those that the user checks. */
export function ToolChoice({ connector, tools }: ToolChoiceProps) {
  const { id, allowedTools: kept } = connector
  /** Unsaved selection. Null means all tools, and undefined means that there are no unsaved changes. */
  const [draft, setDraft] = useState<readonly string[] | null>()
  const [search, setSearch] = useState('')
  const [tried, setTried] = useState<{ tool: ConnectorTool; isOpen: boolean }>()
  const allowed = draft === undefined ? kept : draft
  const save = useMutation({
    mutationFn: (allowedTools: readonly string[] | null) =>
      client.connectors.update({ connectorId: id, allowedTools: allowedTools && [...allowedTools] }),
    onSuccess: (updated) => {
      queryClient.setQueryData(['connector', id], updated)
      void queryClient.invalidateQueries({ queryKey: ['connectors'] })
      setDraft(undefined)
      notifyDone('Tools saved.')
    },
  })
  const names = tools.map(({ name }) => name)
  const gone = kept?.filter((name) => !names.includes(name)) ?? []
  const isSame = draft === undefined || sameTools(draft, kept)
  const toggle = (name: string, isAllowed: boolean) => {
    const others = (allowed ?? []).filter((one) => one !== name)
    setDraft(isAllowed ? [...others, name] : others)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (draft !== undefined) save.mutate(draft)
  }
  const found = tools.filter((tool) => fits(tool, search))
  const body = { allowedTools: allowed }
  return (
    <>
      <form onSubmit={submit}>
        <Stack gap="md">
          <Radio.Group
            label="Agents can call"
            value={allowed === null ? 'all' : 'some'}
            onChange={(value) => setDraft(value === 'all' ? null : (kept ?? names))}
          >
            <Group mt={6} gap="lg">
              <Radio value="all" label="All tools, including future ones" />
              <Radio value="some" label="Only selected tools" />
            </Group>
          </Radio.Group>
          {tools.length > searchFrom && (
            <TextInput
              type="search"
              aria-label="Search tools"
              placeholder="Search tools"
              value={search}
              onChange={(event) => setSearch(event.currentTarget.value)}
            />
          )}
          {tools.length === 0 && <Text c="dimmed">The server offers no tools.</Text>}
          {found.length + gone.length > 0 && (
            <ul className={classes.tools} aria-label="Tools">
              {found.map((tool) => (
                <ToolItem
                  key={tool.name}
                  tool={tool}
                  isAllowed={allowed?.includes(tool.name)}
                  onToggle={toggle}
                  onTry={kept?.includes(tool.name) === false ? undefined : () => setTried({ tool, isOpen: true })}
                />
              ))}
              {search === '' &&
                gone.map((name) => (
                  <ToolItem key={name} tool={{ name }} isAllowed={allowed?.includes(name)} onToggle={toggle} />
                ))}
            </ul>
          )}
          {search !== '' && (
            <Text size="sm" c="dimmed" role="status">
              {found.length} of {tools.length} tools
            </Text>
          )}
          {save.error && <ErrorNotice title="Could not save the tools" error={save.error} />}
          {draft !== undefined && !isSame && (
            <FoldedSnippets
              request={{ method: 'PATCH', path: `/api/connectors/${id}`, body }}
              call={{ method: 'connectors.update', input: { connectorId: id, ...body }, result: 'connector' }}
            />
          )}
          <Group gap="xs">
            <Button type="submit" disabled={isSame} loading={save.isPending}>
              Save tools
            </Button>
            {!isSame && (
              <Button variant="default" onClick={() => setDraft(undefined)}>
                Discard changes
              </Button>
            )}
            {allowed !== null && (
              <Text size="sm" c="dimmed">
                {allowed.length === 0 ? 'No tools selected' : `${allowed.length} selected`}
              </Text>
            )}
          </Group>
        </Stack>
      </form>
      {tried && (
        <Suspense>
          <TryTool
            key={tried.tool.name}
            connectorId={id}
            tool={tried.tool}
            isOpen={tried.isOpen}
            onClose={() => setTried({ ...tried, isOpen: false })}
          />
        </Suspense>
      )}
    </>
  )
}

function sameTools(one: readonly string[] | null, other: readonly string[] | null): boolean {
  if (one === null || other === null) return one === other
  return one.length === other.length && one.every((name) => other.includes(name))
}

function fits({ name, title = '', description }: ConnectorTool, search: string): boolean {
  return `${name} ${title} ${description}`.toLowerCase().includes(search.trim().toLowerCase())
}
