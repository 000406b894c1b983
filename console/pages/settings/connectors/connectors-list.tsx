import { Button, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { PlusIcon } from '@radix-ui/react-icons'
import { keepPreviousData, useIsMutating, useMutation, useQuery } from '@tanstack/react-query'
import type { Connector } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { notifyError } from '../../../parts/notify.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { useOffset } from '../../../parts/hooks/use-search-field.ts'
import { AddConnectorForm } from './add-connector-form.tsx'
import { connectorPath } from './connector-path.ts'
import { ConnectorStatus } from './connector-status.tsx'
import { useConnectorServers } from './use-connector-servers.ts'
import { goTo } from '../../../app/service-url.ts'

const limit = 50

export function ConnectorsList() {
  const [offset, setOffset] = useOffset()
  const [isAdding, { open, close }] = useDisclosure()
  const servers = useConnectorServers().data?.servers ?? []
  const connectors = useQuery({
    queryKey: ['connectors', { limit, offset }],
    queryFn: ({ signal }) => client.connectors.list({ limit, offset }, { signal }),
    placeholderData: keepPreviousData,
  })
  const addButton = (
    <Button leftSection={<PlusIcon aria-hidden />} onClick={open}>
      Add connector
    </Button>
  )
  const serverName = (id: string) => servers.find((server) => server.id === id)?.name ?? id
  const path = `/api/connectors?limit=${limit}${offset === 0 ? '' : `&offset=${offset}`}`
  return (
    <>
      <PageHeader
        title="Connectors"
        description="Services that provide tools to your agents over the Model Context Protocol (MCP). You choose which services to use for each task or chat."
        actions={addButton}
      />
      <Stack gap="lg">
        <QueryState
          query={connectors}
          isEmpty={({ total }) => total === 0}
          empty={
            <EmptyState title="No connectors yet" action={addButton}>
              Connect an MCP server, for example for your documents or issue tracker, and choose which tools agents can
              call.
            </EmptyState>
          }
        >
          {({ connectors: rows, total }) => (
            <div>
              <DataTable caption="Connectors" columns={columnsOf(serverName)} rows={rows} rowKey={({ id }) => id} />
              <Pager what="connectors" total={total} limit={limit} offset={offset} onChange={setOffset} />
            </div>
          )}
        </QueryState>
        <PageCode>
          <Snippets
            request={{ method: 'GET', path }}
            call={{ method: 'connectors.list', input: { limit, ...(offset > 0 && { offset }) }, result: 'page' }}
          />
        </PageCode>
      </Stack>
      <Modal opened={isAdding} onClose={close} title="Add connector" size="lg" closeOnClickOutside={false}>
        <AddConnectorForm servers={servers} onCancel={close} onAdded={({ id }) => goTo(connectorPath(id))} />
      </Modal>
    </>
  )
}

function columnsOf(serverName: (id: string) => string): Column<Connector>[] {
  return [
    {
      id: 'name',
      label: 'Name',
      cell: ({ id, name }) => (
        <PageLink href={connectorPath(id)} fw={600}>
          {name}
        </PageLink>
      ),
    },
    {
      id: 'server',
      label: 'Server',
      cell: ({ url, server }) => (
        <Text inherit style={{ overflowWrap: 'anywhere' }}>
          {url ?? serverName(server ?? '')}
        </Text>
      ),
    },
    {
      id: 'tools',
      label: 'Allowed tools',
      cell: ({ allowedTools }) => (allowedTools === null ? 'All' : allowedTools.length),
    },
    {
      id: 'status',
      label: 'Status',
      cell: (connector) => <ListedStatus connector={connector} />,
    },
    {
      id: 'actions',
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      cell: (connector) => <TestButton connector={connector} />,
    },
  ]
}

const testKey = (connectorId: string) => ['test-connector', connectorId]

function ListedStatus({ connector }: { connector: Connector }) {
  const isTesting = useIsMutating({ mutationKey: testKey(connector.id) }) > 0
  return <ConnectorStatus connector={connector} isTesting={isTesting} />
}

function TestButton({ connector: { id, name } }: { connector: Connector }) {
  const test = useMutation({
    mutationKey: testKey(id),
    mutationFn: async () => {
      queryClient.setQueryData(['connector', id], await client.connectors.test({ connectorId: id }))
      await queryClient.invalidateQueries({ queryKey: ['connectors'] })
    },
    onError: (error) => notifyError(`Could not test ${name}`, error),
  })
  return (
    <Button
      size="xs"
      variant="default"
      aria-label={`Test connector ${name}`}
      loading={test.isPending}
      onClick={() => test.mutate()}
    >
      Test
    </Button>
  )
}
