import { Badge, Box, Button, Checkbox, Code, Group, Text } from '@mantine/core'
import type { ConnectorTool } from '../../../../client/client.ts'
import { Disclosure } from '../../../parts/disclosure.tsx'
import { JsonTree } from '../../../parts/json-tree.tsx'
import classes from '../settings.module.css'

type ToolItemProps = {
  /** Contains only a name if the server does not currently offer the tool. */
  tool: ConnectorTool | { name: string }
  /** Undefined while all tools are allowed. */
  isAllowed: boolean | undefined
  onToggle: (name: string, isAllowed: boolean) => void
  /** Undefined if the tool cannot be called. */
  onTry?: (() => void) | undefined
}

export function ToolItem({ tool, isAllowed, onToggle, onTry }: ToolItemProps) {
  const isOffered = 'inputSchema' in tool
  const isChoice = isAllowed !== undefined
  return (
    <li className={classes.tool}>
      <Group justify="space-between" align="flex-start" wrap="nowrap" gap="sm">
        {isChoice ? (
          <Checkbox
            label={<Name tool={tool} />}
            checked={isAllowed}
            onChange={(event) => onToggle(tool.name, event.currentTarget.checked)}
          />
        ) : (
          <Box className={classes.description}>
            <Name tool={tool} />
          </Box>
        )}
        {onTry && (
          <Button size="compact-sm" variant="default" flex="none" aria-label={`Try ${tool.name}`} onClick={onTry}>
            Try
          </Button>
        )}
      </Group>
      <Box className={isChoice ? classes.toolNote : undefined}>
        {isOffered ? (
          <>
            {tool.description && (
              <Text size="sm" c="dimmed" className={classes.description}>
                {tool.description}
              </Text>
            )}
            <Arguments name={tool.name} schema={tool.inputSchema} />
          </>
        ) : (
          <Text size="sm" c="dimmed">
            The server does not currently offer this tool.
          </Text>
        )}
      </Box>
    </li>
  )
}

function Name({ tool }: Pick<ToolItemProps, 'tool'>) {
  const title = 'title' in tool && tool.title !== tool.name ? tool.title : undefined
  const effect = 'effect' in tool ? tool.effect : undefined
  return (
    <>
      <Code bg="transparent" p={0} fz="md" fw={600}>
        {tool.name}
      </Code>
      {title && (
        <Text span size="sm" c="dimmed">
          {' '}
          {title}
        </Text>
      )}
      {effect && (
        <Badge ml="xs" size="sm" tt="none" fw={500} variant="light" color={effect === 'destructive' ? 'red' : 'gray'}>
          {effect === 'destructive' ? 'Destructive' : 'Read-only'}
        </Badge>
      )}
    </>
  )
}

function Arguments({ name, schema }: { name: string; schema: ConnectorTool['inputSchema'] }) {
  const properties = schema['properties']
  const count = typeof properties === 'object' && properties !== null ? Object.keys(properties).length : 0
  if (count === 0) return null
  return (
    <Box mt={4}>
      <Disclosure label={count === 1 ? '1 argument' : `${count} arguments`} ariaLabel={`Arguments of ${name}`}>
        {() => <JsonTree value={schema} what={`schema of ${name}`} openLevels={3} />}
      </Disclosure>
    </Box>
  )
}
