import { Alert, Box, Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { client } from '../../../app/api-client.ts'
import { CodeBlock } from '../../../parts/code/code-block.tsx'
import { useLeaveWarning } from '../../../parts/hooks/use-leave-warning.ts'
import { SecretBox } from '../../../parts/secret-box.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import type { IssuedKey } from './issued-key.ts'
import type { KeyScope } from './key-scopes.ts'
import { serviceUrl } from '../../../app/service-url.ts'

type IssuedKeyViewProps = {
  issued: IssuedKey
  /** Whether the user tried to close the dialog without confirming that the key is stored. */
  isLeaving: boolean
  onStay: () => void
  onStored: () => void
}

/** Shows a new key, only once, with a working example command. */
export function IssuedKeyView({ issued: { created, replaced }, isLeaving, onStay, onStored }: IssuedKeyViewProps) {
  useLeaveWarning(true)
  if (isLeaving) return <Leaving onStay={onStay} onLeave={onStored} />
  return (
    <Stack gap="md">
      <Text>
        Copy this key now and store it securely. You will not see it again. Anyone with the key can use your account.
      </Text>
      <SecretBox value={created.key} label="New API key" what="API key" />
      {replaced && (
        <Text>
          {Date.parse(replaced.endsAt) - Date.parse(created.createdAt) < 1000 ? (
            <>The old key …{replaced.hint} has stopped working.</>
          ) : (
            <>
              The old key …{replaced.hint} works until <TimeText at={replaced.endsAt} isExact />.
            </>
          )}
        </Text>
      )}
      <Box>
        <Text mb={6}>To run the code examples in this console, set the key in your shell:</Text>
        <CodeBlock
          code={`export ERRAND_API_KEY='${created.key}'`}
          label="Shell command with the key"
          what="shell command"
        />
      </Box>
      <TryIt token={created.key} scopes={created.scopes} />
      {created.scopes.includes('execute') && <McpClient token={created.key} />}
      <Group justify="flex-end">
        <Button onClick={onStored}>I have stored the key</Button>
      </Group>
    </Stack>
  )
}

function Leaving({ onStay, onLeave }: { onStay: () => void; onLeave: () => void }) {
  const stay = useRef<HTMLButtonElement>(null)
  useEffect(() => stay.current?.focus(), [])
  return (
    <Stack gap="md">
      <Alert color="yellow" variant="light" role="alert" title="Have you stored the key?">
        You cannot see the key again. If you lose it, revoke it and create another key.
      </Alert>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onLeave}>
          Close anyway
        </Button>
        <Button onClick={onStay} ref={stay}>
          Back to key
        </Button>
      </Group>
    </Stack>
  )
}

/** Settings that most MCP clients accept. */
function McpClient({ token }: { token: string }) {
  const server = { url: `${serviceUrl}/mcp`, headers: { Authorization: `Bearer ${token}` } }
  return (
    <Box>
      <Text mb={6}>To use agents as tools in an MCP client, such as Claude or an editor:</Text>
      <CodeBlock
        code={JSON.stringify({ mcpServers: { errand: server } }, null, 2)}
        label="MCP client settings"
        what="MCP client settings"
      />
    </Box>
  )
}

/** The shortest example command that the scopes of the key allow. */
function TryIt({ token, scopes }: { token: string; scopes: readonly KeyScope[] }) {
  const isForRunningOnly = !scopes.includes('read') && !scopes.includes('manage')
  const agents = useQuery({
    queryKey: ['agents', { limit: 100 }],
    queryFn: ({ signal }) => client.agents.list({ limit: 100 }, { signal }),
    enabled: isForRunningOnly,
  })
  const talker = agents.data?.agents.find(({ chat }) => chat !== null)
  const header = `-H 'Authorization: Bearer ${token}'`
  if (isForRunningOnly && agents.isPending) return <Skeleton height={80} aria-label="Loading command" />
  if (isForRunningOnly && !talker) return null
  const lines = isForRunningOnly
    ? [
        `curl '${serviceUrl}/api/sessions'`,
        header,
        "-H 'Content-Type: application/json'",
        `-d '{"agentId":"${talker?.id}"}'`,
      ]
    : [`curl '${serviceUrl}${scopes.includes('read') ? '/api/account' : '/api/keys'}'`, header]
  return (
    <Box>
      <Text mb={6}>Try the key{isForRunningOnly && ' by creating a session, which is free'}:</Text>
      <CodeBlock code={lines.join(' \\\n  ')} label="Command with the new key" what="command" />
    </Box>
  )
}
