import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { Connector } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { notifyDone } from '../../../parts/notify.tsx'
import { ConnectorAuthFields } from './connector-auth-fields.tsx'
import {
  authOf,
  checkDraft,
  draftErrors,
  fieldsOf,
  draftOf,
  type ConnectorAuth,
  type ConnectorDraft,
} from './connector-draft.ts'
import { useConnectorServers } from './use-connector-servers.ts'
import { useOwnErrors } from '../use-own-errors.ts'

type Changes = { name?: string; url?: string; auth?: ConnectorAuth }

/** Edits name, URL and authentication. Secrets stay unchanged unless the user enters them again. */
export function EditConnectorForm({ connector }: { connector: Connector }) {
  const { id, url, server, auth } = connector
  const [draft, setDraft] = useState(() => draftOf(connector))
  const takesToken = useConnectorServers().data?.servers.find((one) => one.id === server)?.takesToken ?? false
  const isByUrl = url !== null
  const save = useMutation({
    mutationFn: (changes: Changes) => client.connectors.update({ connectorId: id, ...changes }),
    onSuccess: (updated, changes) => {
      setDraft(draftOf(updated))
      queryClient.setQueryData(['connector', id], updated)
      void queryClient.invalidateQueries({ queryKey: ['connectors'] })
      // The listed tools are outdated, because they came from another URL or were listed with another secret.
      if (changes.url !== undefined || changes.auth) {
        void queryClient.resetQueries({ queryKey: ['connector-tools', id] })
      }
      notifyDone('Connector saved.')
    },
  })
  const { form, own, accept, clear } = useOwnErrors(save.error)
  const { fields, rest } = draftErrors(save.error, draft)
  const errors = { ...fields, ...own }
  const changes = changesOf(draft, connector)
  const isSame = Object.keys(changes).length === 0
  const change = (typed: Partial<ConnectorDraft>) => {
    setDraft({ ...draft, ...typed })
    clear(fieldsOf(typed))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const missing = checkDraft(draft, { kept: auth.type, isByUrl })
    save.reset()
    if (accept(missing) && !isSame) save.mutate(changes)
  }
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="md" maw={560}>
        {rest && <ErrorNotice title="Could not save the connector" error={save.error} />}
        <TextInput
          label="Name"
          maxLength={60}
          autoComplete="off"
          value={draft.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          error={errors['name']}
        />
        {isByUrl && (
          <TextInput
            label="URL"
            description={
              auth.type === 'none' ? undefined : 'If you change the host, you must enter the credentials again.'
            }
            type="url"
            autoComplete="off"
            spellCheck={false}
            value={draft.url}
            onChange={(event) => change({ url: event.currentTarget.value })}
            error={errors['url']}
          />
        )}
        {(isByUrl || takesToken) && (
          <ConnectorAuthFields {...{ draft, errors, isByUrl }} kept={auth.type} onChange={change} />
        )}
        <Group gap="xs">
          <Button type="submit" disabled={isSame} loading={save.isPending}>
            Save connection
          </Button>
          {!isSame && (
            <Button variant="default" onClick={() => setDraft(draftOf(connector))}>
              Discard changes
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  )
}

function changesOf(draft: ConnectorDraft, { name, url, auth }: Connector): Changes {
  const typedUrl = draft.url.trim()
  const changed = authOf(draft, auth.type)
  return {
    ...(draft.name.trim() !== name && { name: draft.name.trim() }),
    ...(url !== null && typedUrl !== url && { url: typedUrl }),
    ...(changed && { auth: changed }),
  }
}
