import { Badge, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ErrandClientError, type ConnectorTool } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ConfirmDialog } from '../../../parts/confirm-button.tsx'
import { Disclosure } from '../../../parts/disclosure.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { JsonTree } from '../../../parts/json-tree.tsx'
import { toFormPath } from '../../../parts/schema-form/check-value.ts'
import { FieldControl } from '../../../parts/schema-form/field-control.tsx'
import { RestProblems } from '../../../parts/schema-form/rest-problems.tsx'
import { shortened } from '../../../parts/schema-form/shortened.ts'
import { useParamsForm } from '../../agents/use-params-form.ts'
import { ToolOutput } from '../../chat/reply/tool-output.tsx'

type TryToolProps = { connectorId: string; tool: ConnectorTool; isOpen: boolean; onClose: () => void }
type Args = Record<string, unknown>
type ToolResult = Awaited<ReturnType<typeof client.connectors.callTool>>

/** Calls a tool with the arguments that the user enters, and shows its result. */
export function TryTool({ connectorId, tool, isOpen, onClose }: TryToolProps) {
  return (
    <Modal opened={isOpen} onClose={onClose} title={`Try ${tool.name}`} size="lg" closeOnClickOutside={false}>
      <TryForm connectorId={connectorId} tool={tool} />
    </Modal>
  )
}

function TryForm({ connectorId, tool }: Pick<TryToolProps, 'connectorId' | 'tool'>) {
  const { description, effect, inputSchema, name } = tool
  const form = useParamsForm({ schema: inputSchema, start: undefined, draftName: `${connectorId}.${name}` })
  const [confirmed, setConfirmed] = useState<Args>()
  const call = useMutation({
    mutationFn: (args: Args) => client.connectors.callTool({ connectorId, tool: name, arguments: args }),
    onError: (error) => form.setProblems(detailsOf(error)),
  })
  const submit = () => {
    call.reset()
    const args = form.check()
    if (!args) return
    if (effect === 'destructive') setConfirmed(args)
    else call.mutate(args)
  }
  const input = { tool: name, arguments: shortened(form.params).value }
  return (
    <form
      noValidate
      aria-label={`Try ${name}`}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack gap="md">
        {description && (
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-line' }}>
            {description}
          </Text>
        )}
        {form.field.kind === 'object' && form.field.properties.length === 0 && !form.field.takesOthers ? (
          <Text size="sm">This tool has no arguments.</Text>
        ) : (
          <FieldControl
            field={form.field}
            value={form.value}
            onChange={form.setValue}
            path=""
            isRequired
            problems={form.problems.fields}
            Part={FieldControl}
          />
        )}
        <RestProblems title="Invalid arguments" problems={form.problems.rest} />
        {call.error && detailsOf(call.error).length === 0 && (
          <ErrorNotice title="Could not call the tool" error={call.error} />
        )}
        <FoldedSnippets
          request={{ method: 'POST', path: `/api/connectors/${connectorId}/call`, body: input }}
          call={{ method: 'connectors.callTool', input: { connectorId, ...input }, result: 'result' }}
        />
        <Group justify="flex-end">
          <Text size="sm" c="dimmed">
            Free
          </Text>
          <Button type="submit" loading={call.isPending}>
            Call tool
          </Button>
        </Group>
        <div role="status">{call.data && <Result name={name} result={call.data} />}</div>
      </Stack>
      <ConfirmDialog
        isOpen={confirmed !== undefined}
        onClose={() => setConfirmed(undefined)}
        title={`Call ${name}?`}
        confirmLabel="Call tool"
        onConfirm={async () => confirmed && call.mutate(confirmed)}
      >
        Its server declares this tool as destructive. It may delete or overwrite data.
      </ConfirmDialog>
    </form>
  )
}

function Result({ name, result }: { name: string; result: ToolResult }) {
  const { content, isError, structuredContent } = result
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Text fw={600}>Result</Text>
        {isError && (
          <Badge size="sm" tt="none" fw={500} variant="light" color="red">
            Error
          </Badge>
        )}
      </Group>
      <ToolOutput name={name} output={result} />
      {content.length > 0 && structuredContent !== undefined && (
        <Disclosure label="Structured output">
          {() => <JsonTree value={structuredContent} what={`structured output of ${name}`} />}
        </Disclosure>
      )}
    </Stack>
  )
}

function detailsOf(error: unknown) {
  const details = error instanceof ErrandClientError ? error.details : []
  return details.map(({ path, message }) => ({ path: toFormPath(path, 'arguments'), message }))
}
