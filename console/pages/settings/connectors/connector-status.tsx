import { Group, Text } from '@mantine/core'
import type { Connector } from '../../../../client/client.ts'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'

type ConnectorStatusProps = { connector: Connector; isTesting: boolean }

/** Result of the last check. Screen readers announce each change. */
export function ConnectorStatus({ connector: { status, statusMessage, checkedAt }, isTesting }: ConnectorStatusProps) {
  return (
    <div>
      <Group gap="xs">
        <div role="status">
          {isTesting ? <StatusBadge status="processing" label="Testing" /> : <StatusBadge status={status} />}
        </div>
        {checkedAt && !isTesting && (
          <Text size="sm" c="dimmed">
            <TimeText at={checkedAt} />
          </Text>
        )}
      </Group>
      {statusMessage && !isTesting && (
        <Text size="sm" mt={4} style={{ overflowWrap: 'anywhere' }}>
          {statusMessage}
        </Text>
      )}
    </div>
  )
}
