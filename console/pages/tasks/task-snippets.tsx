import { SegmentedControl, Text } from '@mantine/core'
import { useState } from 'react'
import type { Task } from '../../../client/client.ts'
import { ShortenedNote, Snippets } from '../../parts/code/snippets.tsx'
import { shortened } from '../../parts/schema-form/shortened.ts'

export function TaskSnippets({ task, request }: { task: Task; request: unknown }) {
  const [about, setAbout] = useState('get')
  const { value, isShortened } = shortened(request)
  const { connectorIds, endpointId } = task
  const input = { endpointId, params: value, ...(connectorIds && { connectorIds }) }
  return (
    <>
      <SegmentedControl
        aria-label="Code example"
        data={[
          { value: 'get', label: 'Get this task' },
          { value: 'create', label: 'Run it again' },
        ]}
        value={about}
        onChange={setAbout}
      />
      {about === 'get' ? (
        <Snippets
          request={{ method: 'GET', path: `/api/tasks/${encodeURIComponent(task.id)}` }}
          call={{ method: 'tasks.get', input: { taskId: task.id }, result: 'task' }}
        />
      ) : request === undefined ? (
        <Text c="dimmed">To see the params in the code, first load all of them on this page.</Text>
      ) : (
        <>
          {isShortened && <ShortenedNote />}
          <Snippets
            request={{ method: 'POST', path: '/api/tasks', body: input }}
            call={{ method: 'tasks.create', input, result: 'created' }}
          />
        </>
      )}
    </>
  )
}
