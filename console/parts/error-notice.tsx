import { Alert, Button, Code, Text } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import { ErrandClientError } from '../../client/client.ts'
import { errorText } from './text/error-text.ts'

type ErrorNoticeProps = { error: unknown; title?: string; onRetry?: () => void; isRetrying?: boolean }

export function ErrorNotice({ error, title = 'Something went wrong', onRetry, isRetrying = false }: ErrorNoticeProps) {
  const requestId = error instanceof ErrandClientError ? error.requestId : undefined
  return (
    <Alert color="red" variant="light" title={title} icon={<ExclamationTriangleIcon aria-hidden />} role="alert">
      <Text style={{ overflowWrap: 'anywhere' }}>{errorText(error)}</Text>
      {requestId && (
        <Text size="sm" mt={4} style={{ overflowWrap: 'anywhere' }}>
          Request ID: <Code>{requestId}</Code>
        </Text>
      )}
      {onRetry && (
        <Button size="xs" variant="default" mt="sm" loading={isRetrying} onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  )
}
