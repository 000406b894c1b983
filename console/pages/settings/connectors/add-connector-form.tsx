import { Box, Button, Group, NativeSelect, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { Connector } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { ConnectorAuthFields } from './connector-auth-fields.tsx'
import { authOf, checkDraft, draftErrors, fieldsOf, newDraft, type ConnectorDraft } from './connector-draft.ts'
import { useOwnErrors } from '../use-own-errors.ts'
import type { ConnectorServer } from './use-connector-servers.ts'

type AddConnectorFormProps = {
  servers: readonly ConnectorServer[]
  onAdded: (connector: Connector) => void
  onCancel: () => void
}

export function AddConnectorForm({ servers, onAdded, onCancel }: AddConnectorFormProps) {
  const [draft, setDraft] = useState(newDraft)
  const [isByUrl, setByUrl] = useState(true)
  const add = useMutation({
    mutationFn: (wanted: ReturnType<typeof inputOf>) => client.connectors.create(wanted),
    onSuccess: (connector) => {
      queryClient.setQueryData(['connector', connector.id], connector)
      void queryClient.invalidateQueries({ queryKey: ['connectors'] })
      onAdded(connector)
    },
  })
  const { form, own, accept, clear } = useOwnErrors(add.error)
  const { fields, rest } = draftErrors(add.error, draft)
  const errors = { ...fields, ...own }
  const change = (changes: Partial<ConnectorDraft>) => {
    setDraft({ ...draft, ...changes })
    clear(fieldsOf(changes))
  }
  const server = servers.find(({ id }) => id === draft.server)
  const chooseServer = (id: string) => {
    const next = servers.find((one) => one.id === id)
    const isUnnamed = draft.name === '' || draft.name === server?.name
    change({
      server: id,
      authType: next?.takesToken ? 'bearer' : 'none',
      ...(isUnnamed && { name: next?.name ?? '' }),
    })
  }
  const chooseSource = (source: string) => {
    setByUrl(source === 'url')
    clear(Object.keys(own))
    add.reset()
    change({ authType: source !== 'url' && server?.takesToken ? 'bearer' : 'none' })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const missing = checkDraft(draft, { isByUrl })
    add.reset()
    if (accept(missing)) add.mutate(inputOf(draft, isByUrl))
  }
  const shown = withoutSecrets(inputOf(draft, isByUrl))
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="md">
        {rest && <ErrorNotice title="Could not add the connector" error={add.error} />}
        {servers.length > 0 && (
          <SegmentedControl
            fullWidth
            aria-label="Server type"
            data={[
              { value: 'url', label: 'By URL' },
              { value: 'server', label: 'Provided by the operator' },
            ]}
            value={isByUrl ? 'url' : 'server'}
            onChange={chooseSource}
          />
        )}
        {isByUrl ? (
          <TextInput
            label="URL"
            description="Public https URL of an MCP server (streamable HTTP)."
            placeholder="https://mcp.example.com/mcp"
            type="url"
            autoComplete="off"
            spellCheck={false}
            data-autofocus
            value={draft.url}
            onChange={(event) => change({ url: event.currentTarget.value })}
            error={errors['url']}
          />
        ) : (
          <Box>
            <NativeSelect
              label="Server"
              data={[
                { value: '', label: 'Choose a server' },
                ...servers.map(({ id, name }) => ({ value: id, label: name })),
              ]}
              value={draft.server}
              onChange={(event) => chooseServer(event.currentTarget.value)}
              error={errors['server']}
            />
            {server?.description && (
              <Text size="sm" c="dimmed" mt={4}>
                {server.description}
              </Text>
            )}
          </Box>
        )}
        <TextInput
          label="Name"
          description="Agents see this name along with the tool names."
          maxLength={60}
          autoComplete="off"
          value={draft.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          error={errors['name']}
        />
        {(isByUrl || server?.takesToken) && <ConnectorAuthFields {...{ draft, errors, isByUrl }} onChange={change} />}
        <FoldedSnippets
          request={{ method: 'POST', path: '/api/connectors', body: shown }}
          call={{ method: 'connectors.create', input: shown, result: 'connector' }}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={add.isPending}>
            Add and test
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function inputOf(draft: ConnectorDraft, isByUrl: boolean) {
  const auth = authOf(draft, 'none')
  return {
    name: draft.name.trim(),
    ...(isByUrl ? { url: draft.url.trim() } : { server: draft.server }),
    ...(auth && { auth }),
  }
}

/** Omits secrets from the example code, because users paste copied code into places that must not contain secrets. */
function withoutSecrets({ auth, ...rest }: ReturnType<typeof inputOf>): object {
  if (auth?.type === 'bearer') return { ...rest, auth: { type: 'bearer', token: '…' } }
  if (auth?.type === 'oauth')
    return { ...rest, auth: { ...auth, ...(auth.clientSecret !== undefined && { clientSecret: '…' }) } }
  if (auth?.type !== 'headers') return rest
  return {
    ...rest,
    auth: { type: 'headers', headers: Object.fromEntries(Object.keys(auth.headers).map((name) => [name, '…'])) },
  }
}
