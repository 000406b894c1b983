import { MultiSelect, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'
import { PageLink } from '../../../parts/page-link.tsx'

type ConnectorChoiceProps = { value: string[]; onChange: (value: string[]) => void; error: string | undefined }

export function ConnectorChoice({ error, onChange, value }: ConnectorChoiceProps) {
  const { data, error: failure } = useQuery({
    queryKey: ['connectors', { limit: 100 }],
    queryFn: ({ signal }) => client.connectors.list({ limit: 100 }, { signal }),
  })
  if (failure) {
    return (
      <Text size="sm" c="dimmed">
        Could not load your connectors. The chat works without them.
      </Text>
    )
  }
  if (!data) return null
  if (data.total === 0 && value.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        To let the agent use tools from your own services,{' '}
        <PageLink href="/settings/connectors" inherit underline="always">
          add a connector
        </PageLink>
        .
      </Text>
    )
  }
  return (
    <MultiSelect
      label="Connectors"
      description="Services whose tools the agent can call in this chat."
      placeholder={value.length === 0 ? 'None' : ''}
      data={data.connectors.map(({ id, name }) => ({ value: id, label: name }))}
      value={value}
      onChange={onChange}
      error={error}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'No connectors' }}
    />
  )
}
