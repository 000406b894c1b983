import { Button, Group, Modal, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Session } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { queryClient } from '../../app/query-client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { notifyDone } from '../../parts/notify.tsx'
import { ConnectorChoice } from './compose/connector-choice.tsx'
import { connectorIdsOf } from './compose/session-connector-ids.ts'

export function SessionConnectors({ session }: { session: Session }) {
  const ids = connectorIdsOf(session)
  const { data } = useQuery({
    queryKey: ['connectors', { limit: 100 }],
    queryFn: ({ signal }) => client.connectors.list({ limit: 100 }, { signal }),
    enabled: ids.length > 0,
  })
  if (ids.length === 0) return 'None'
  return ids.map((id) => data?.connectors.find((connector) => connector.id === id)?.name ?? id).join(', ')
}

export function ConnectorsButton({ session }: { session: Session }) {
  const [isOpen, { open, close }] = useDisclosure()
  return (
    <>
      <Button size="xs" variant="default" onClick={open}>
        Change connectors
      </Button>
      <Modal opened={isOpen} onClose={close} title="Chat connectors">
        <ConnectorsForm session={session} onDone={close} />
      </Modal>
    </>
  )
}

function ConnectorsForm({ onDone, session }: { session: Session; onDone: () => void }) {
  const { id: sessionId } = session
  const [connectorIds, setConnectorIds] = useState(connectorIdsOf(session))
  const save = useMutation({
    mutationFn: () =>
      client.sessions.update({ sessionId, metadata: { connectorIds: connectorIds.length > 0 ? connectorIds : null } }),
    onSuccess: (changed) => {
      queryClient.setQueryData(['session', sessionId], changed)
      notifyDone('Connectors saved. They apply from the next message.')
      onDone()
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <Stack gap="md">
        {save.error && <ErrorNotice title="Could not save the connectors" error={save.error} />}
        <ConnectorChoice value={connectorIds} onChange={setConnectorIds} error={undefined} />
        <Group justify="flex-end">
          <Button type="submit" loading={save.isPending}>
            Save connectors
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
