import { Button, Stack } from '@mantine/core'
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { ErrandClientError, type Connector } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { CopyText } from '../../../parts/copy-text.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { notifyDone } from '../../../parts/notify.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { connectorsPath } from './connector-path.ts'
import { ConnectorStatus } from './connector-status.tsx'
import { ConnectorTools } from './connector-tools-panel.tsx'
import { EditConnectorForm } from './edit-connector-form.tsx'
import { SignInPanel } from './sign-in-panel.tsx'
import { useConnectorServers } from './use-connector-servers.ts'
import { useConnectorTools, type ToolsPage } from './use-connector-tools.ts'
import { goTo } from '../../../app/service-url.ts'

export function ConnectorView({ connectorId }: { connectorId: string }) {
  const connector = useQuery({
    queryKey: ['connector', connectorId],
    queryFn: ({ signal }) => client.connectors.get({ connectorId }, { signal }),
  })
  const isMissing = connector.error instanceof ErrandClientError && connector.error.status === 404
  const back = { href: connectorsPath, label: 'Connectors' }
  if (isMissing) {
    return (
      <>
        <PageHeader title="Connector not found" back={back} />
        <EmptyState title="No connector with this ID">
          <PageLink href={connectorsPath}>View your connectors</PageLink>
        </EmptyState>
      </>
    )
  }
  return (
    <>
      <PageHeader
        title={connector.data?.name ?? 'Connector'}
        back={back}
        actions={connector.data && <DeleteButton connector={connector.data} />}
      />
      <QueryState query={connector}>{(data) => <Content connector={data} />}</QueryState>
    </>
  )
}

function Content({ connector }: { connector: Connector }) {
  const { auth, id, url, server, createdAt } = connector
  const tools = useConnectorTools(connector)
  const serverName = useConnectorServers().data?.servers.find((one) => one.id === server)?.name
  return (
    <Stack gap="lg">
      <Panel title="Status" actions={connector.status !== 'needs_sign_in' && <TestButton tools={tools} />}>
        <Stack gap="md">
          <ConnectorStatus connector={connector} isTesting={tools.isFetching} />
          <KeyValueList
            rows={[
              ['URL', url],
              ['Server', server !== null && (serverName ?? server)],
              ['ID', <CopyText key="id" value={id} what="connector ID" />],
              ['Created', <TimeText key="added" at={createdAt} />],
            ]}
          />
        </Stack>
      </Panel>
      {auth.type === 'oauth' && <SignInPanel connector={connector} />}
      <ConnectorTools connector={connector} tools={tools} />
      <Panel title="Connection">
        <EditConnectorForm connector={connector} />
      </Panel>
      <PageCode>
        <Snippets
          request={{ method: 'GET', path: `/api/connectors/${id}/tools` }}
          call={{ method: 'connectors.tools', input: { connectorId: id }, result: 'offered' }}
        />
      </PageCode>
    </Stack>
  )
}

/** Tests the connector by listing its tools, so that both need only one connection. */
function TestButton({ tools }: { tools: UseQueryResult<ToolsPage> }) {
  return (
    <Button size="xs" variant="default" loading={tools.isFetching} onClick={() => void tools.refetch()}>
      Test
    </Button>
  )
}

function DeleteButton({ connector: { id, name } }: { connector: Connector }) {
  return (
    <ConfirmButton
      label="Delete"
      ariaLabel={`Delete connector ${name}`}
      title={`Delete ${name}?`}
      confirmLabel="Delete connector"
      buttonProps={{ size: 'sm' }}
      onConfirm={async () => {
        await client.connectors.delete({ connectorId: id })
        notifyDone(`${name} deleted.`)
        goTo(connectorsPath, { replace: true })
        queryClient.removeQueries({ queryKey: ['connector', id] })
        await queryClient.invalidateQueries({ queryKey: ['connectors'] })
      }}
    >
      Its secrets are deleted too. Queued tasks that use it fail and are refunded. Chats that use it reject messages
      until you remove it from them.
    </ConfirmButton>
  )
}
