import { Alert, Stack, Text } from '@mantine/core'
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Agent, Task } from '../../../client/client.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { CopyText } from '../../parts/copy-text.tsx'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { agentPath } from '../agents/agent-path.ts'
import { deletedText, useConnectors } from '../agents/connector-picker.tsx'
import { TaskStarter } from '../settings/keys/task-starter.tsx'
import { connectorPath } from '../settings/connectors/connector-path.ts'
import { secondsText } from '../../parts/text/duration-text.ts'
import { LogPanel } from './log-panel.tsx'
import { loadPayload, type PayloadPart } from './load-payload.ts'
import { PayloadPanel } from './payload-panel.tsx'
import { TaskError } from './task-error.tsx'
import { TaskMoney } from './task-money.tsx'
import { TaskProgress } from './task-progress.tsx'
import { TaskSnippets } from './task-snippets.tsx'
import { isOpen } from './task-state.ts'
import { TaskTimeline } from './task-timeline.tsx'
import classes from './task.module.css'

type TaskContentProps = {
  task: Task
  agent: UseQueryResult<Agent>
  endpoint: Agent['endpoints'][number] | undefined
}

export function TaskContent({ task, agent, endpoint }: TaskContentProps) {
  const request = useWhole(task, 'request')
  const response = useWhole(task, 'response')
  const isPruned = task.prunedAt !== undefined
  return (
    <Stack gap="lg">
      {isOpen(task) && <TaskProgress task={task} limitSeconds={task.timeoutSeconds ?? endpoint?.timeoutSeconds} />}
      {task.error && <TaskError task={task} error={task.error} />}
      <div className={classes.columns}>
        <div className={classes.column}>
          {isPruned && (
            <Alert
              color="gray"
              title={
                <>
                  Contents deleted on <TimeText at={task.prunedAt!} isExact />
                </>
              }
            >
              The retention period for params, results and error messages has ended.
            </Alert>
          )}
          {task.status === 'completed' && !isPruned && (
            <PayloadPanel
              title="Result"
              what="the result"
              taskId={task.id}
              part="response"
              value={task.response}
              isPreview={task.responseUri !== undefined}
              whole={response}
            />
          )}
          {!isPruned && (
            <PayloadPanel
              title="Params"
              what="the params"
              taskId={task.id}
              part="request"
              value={task.request}
              isPreview={task.requestUri !== undefined}
              whole={request}
            />
          )}
        </div>
        <div className={classes.column}>
          <Panel title="Details">
            <TaskDetails task={task} agent={agent.data} hasEndpoint={endpoint !== undefined} />
          </Panel>
          <Panel title="Timeline">
            <TaskTimeline task={task} />
          </Panel>
          {task.progressLog && <LogPanel title="Progress" log={task.progressLog} startedAt={task.startedAt} />}
          <TaskMoney task={task} />
        </div>
      </div>
      {agent.data && !endpoint && (
        <Alert color="yellow" title="Endpoint removed">
          The agent no longer has this endpoint, so you cannot run the task again.
        </Alert>
      )}
      {!isPruned && (
        <PageCode>
          <TaskSnippets task={task} request={task.requestUri === undefined ? task.request : request.data} />
        </PageCode>
      )}
    </Stack>
  )
}

function useWhole(task: Task, part: PayloadPart): UseQueryResult {
  return useQuery({
    queryKey: ['payload', task.id, part],
    queryFn: ({ signal }) => loadPayload(task.id, part, signal),
    enabled: false,
    staleTime: Infinity,
  })
}

type TaskDetailsProps = { task: Task; agent: Agent | undefined; hasEndpoint: boolean }

function TaskDetails({ task, agent, hasEndpoint }: TaskDetailsProps) {
  return (
    <KeyValueList
      rows={[
        ['Task', <CopyText key="task" value={task.id} what="task ID" />],
        [
          'Agent',
          agent ? (
            <PageLink key="agent" href={agentPath(agent.id)}>
              {agent.name}
            </PageLink>
          ) : (
            task.agentId
          ),
        ],
        [
          'Endpoint',
          hasEndpoint ? (
            <PageLink key="endpoint" href={agentPath(task.agentId, task.endpointId)}>
              {task.endpointId}
            </PageLink>
          ) : (
            task.endpointId
          ),
        ],
        ['Started by', <TaskStarter key="starter" task={task} isOwn />],
        ['Connectors', task.connectorIds && <TaskConnectors key="connectors" ids={task.connectorIds} />],
        ['Timeout', task.timeoutSeconds !== undefined && secondsText(task.timeoutSeconds)],
        ['Tags', task.tags && <TaskTags key="tags" tags={task.tags} />],
      ]}
    />
  )
}

function TaskTags({ tags }: { tags: Readonly<Record<string, string>> }) {
  return (
    <Stack gap={2} component="span" display="inline-flex">
      {Object.entries(tags).map(([name, value]) => (
        <PageLink key={name} href={`/tasks?tag=${encodeURIComponent(`${name}:${value}`)}`}>
          {name}: {value}
        </PageLink>
      ))}
    </Stack>
  )
}

function TaskConnectors({ ids }: { ids: readonly string[] }) {
  const { data } = useConnectors()
  return (
    <Stack gap={2} component="span" display="inline-flex">
      {ids.map((id) => {
        const connector = data?.connectors.find((one) => one.id === id)
        if (connector) {
          return (
            <PageLink key={id} href={connectorPath(id)}>
              {connector.name}
            </PageLink>
          )
        }
        return (
          <Text key={id} component="span" inherit c="dimmed">
            {data ? deletedText(id) : '…'}
          </Text>
        )
      })}
    </Stack>
  )
}
