import { MultiSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Connector } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'

const connectorsMax = 20
const statusTexts: Record<Connector['status'], string> = {
  ok: '',
  untested: ' (not tested)',
  failed: ' (failed its last test)',
  needs_sign_in: ' (sign-in required)',
}

export function deletedText(connectorId: string): string {
  return `Deleted connector …${connectorId.slice(-4)}`
}

type ConnectorPickerProps = { value: readonly string[]; onChange: (ids: string[]) => void; error: string | undefined }

/**
 * Loads the user's connectors. Call this together with the agent's query, so that the form does not shift when they
 * arrive.
 */
export function useConnectors() {
  const input = { limit: 100 }
  return useQuery({
    queryKey: ['connectors', input],
    queryFn: ({ signal }) => client.connectors.list(input, { signal }),
  })
}

export function ConnectorPicker({ value, onChange, error }: ConnectorPickerProps) {
  const { data } = useConnectors()
  if (!data || (data.connectors.length === 0 && value.length === 0)) return null
  // Connectors of an earlier task may have been deleted.
  const gone = value.filter((id) => !data.connectors.some((connector) => connector.id === id))
  return (
    <MultiSelect
      label="Connectors"
      description="Services whose tools the agent can call at no extra cost."
      placeholder={value.length === 0 ? 'None' : ''}
      data={[
        ...data.connectors.map(({ id, name, status }) => ({ value: id, label: name + statusTexts[status] })),
        ...gone.map((id) => ({ value: id, label: deletedText(id) })),
      ]}
      value={[...value]}
      onChange={onChange}
      maxValues={connectorsMax}
      searchable={data.connectors.length > 8}
      hidePickedOptions
      error={error ?? (gone.length > 0 ? 'Remove the deleted connectors before you run this.' : undefined)}
    />
  )
}
